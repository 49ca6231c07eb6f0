#!/usr/bin/env python3
"""Conversations of two tenants in three protocols, streamed and not, that are edited, cut, forked, repeated, shared and sent at once,
through a real proxy.

    tests/proxy/forks.py [--requests 2000] [--seed 1] [--protocol anthropic] [--binary FOLDER] [--store memory] [--faults FOLDER]

Every message bears a mark of its own. The upstream gives back what it was sent inside its reply, so that each request is judged by
whoever sent it:

- no mark is in it that its client did not send, in a summary neither: nothing of another tenant, another branch, an earlier wording;
- what stands behind the summary is the end of the client's list, byte for byte and without a gap;
- roles take turns where the protocol wants that, and every result stands behind its call.
"""
import argparse
import collections
import http.client
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from corpus import ROOT, SUMMARY, slices, started
from protocols import PROTOCOLS, dumps, echo_of, protocol_at, stream_of

MARK = re.compile(r"mark-[0-9a-f]{12}")
WORDS = "the parser reads a line and keeps its number while tests of the store wait for the disk to answer again".split()
WINDOW = 5_000
TENANTS = ("one", "two")
# A conversation is given up when it has had so many messages, so that new ones begin.
MESSAGES_MAX = 160
THREADS = 6
# So many go on at once in a protocol: few enough that each outgrows its window.
LISTS_MAX = 5


class Echo(BaseHTTPRequestHandler):
    """A provider that says what it was sent."""

    protocol_version = "HTTP/1.1"
    # Replies are small and must not wait for their acknowledgement.
    wbufsize = -1
    numbers = itertools.count()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        protocol, number = protocol_at(self.path), next(self.numbers)
        is_streamed = '"stream":true' in body
        data = "".join(stream_of(protocol, number, body)) if is_streamed else dumps(protocol.reply(number, body))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_streamed else "application/json")
        self.send_header("content-length", str(len(data.encode())))
        self.end_headers()
        self.wfile.write(data.encode())

    def log_message(self, *_):
        pass


def text(dice):
    """Words with a mark of their own."""
    words = " ".join(dice.choice(WORDS) for _ in range(dice.randint(5, 300)))
    return f"mark-{dice.getrandbits(48):012x} {words}"


def turn(dice, messages):
    """A reply and what is said to it: words, or a call and its result."""
    if dice.random() < 0.4:
        call = f"toolu_{dice.getrandbits(60):015x}"
        arguments = {"path": f"src/{dice.getrandbits(20)}.rs", "why": text(dice)}
        content = [{"type": "text", "text": text(dice)}, {"type": "tool_use", "id": call, "name": "Read", "input": arguments}]
        result = [{"type": "tool_result", "tool_use_id": call, "content": text(dice)}]
        if dice.random() < 0.3:
            result.append({"type": "text", "text": f"<system-reminder>{text(dice)}</system-reminder>"})
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": result}]
    else:
        messages += [{"role": "assistant", "content": text(dice)}, {"role": "user", "content": text(dice)}]


def cut(messages, at, may_end_in_results=False):
    """The beginning of a list up to the next message of the user's, of their own words unless results will do: no call is left open."""
    def is_end(message):
        return message["role"] == "user" and (may_end_in_results or isinstance(message["content"], str))
    while at < len(messages) and not is_end(messages[at]):
        at += 1
    return messages[:at + 1]


class Table:
    """The conversations there are in each protocol, which several threads go on with."""

    def __init__(self, protocols):
        self.lock, self.lists = threading.Lock(), {protocol: [] for protocol in protocols}

    def take(self, dice):
        """A copy of one, or a new one; as many in one protocol as in another."""
        protocol = dice.choice(list(self.lists))
        with self.lock:
            if self.lists[protocol] and dice.random() > 0.02:
                tenant, messages = dice.choice(self.lists[protocol])
                return protocol, tenant, list(messages)
        return protocol, dice.choice(TENANTS), [{"role": "user", "content": text(dice)}]

    def put(self, dice, protocol, tenant, messages):
        with self.lock:
            lists = self.lists[protocol]
            lists.append((tenant, messages))
            if len(lists) > LISTS_MAX or len(messages) > MESSAGES_MAX:
                lists.pop(dice.randrange(len(lists)))


def next_request(dice, table):
    """Somebody's next request, and the list that stays of it."""
    protocol, tenant, messages = table.take(dice)
    act = dice.random()
    if act < 0.66:
        for _ in range(dice.choice((1, 1, 1, 3))):
            turn(dice, messages)
    elif act < 0.76:
        # Somebody says something else than before.
        messages = cut(messages, dice.randrange(len(messages)))
        if isinstance(messages[-1]["content"], str) and messages[-1]["role"] == "user":
            messages[-1] = {"role": "user", "content": text(dice)}
    elif act < 0.82:
        messages = cut(messages, dice.randrange(len(messages)), dice.random() < 0.5)
    elif act < 0.86:
        # The other tenant says the same, word for word.
        tenant = TENANTS[1 - TENANTS.index(tenant)]
        turn(dice, messages)
    elif act < 0.93:
        # A line that is not there the next time.
        turn(dice, messages)
        last = messages[-1]["content"]
        note = f"It is now {text(dice)}"
        shown = last + [{"type": "text", "text": note}] if isinstance(last, list) else f"{last}\n{note}"
        return protocol, tenant, messages, messages[:-1] + [{"role": "user", "content": shown}]
    return protocol, tenant, messages, messages


def faults_of(protocol, sent, arrived):
    """What is wrong with a request that arrived."""
    foreign = set(MARK.findall(arrived)) - set(MARK.findall("".join(sent)))
    if foreign:
        yield f"{len(foreign)} marks of others: {sorted(foreign)[:3]}"
    list_ = slices(arrived, protocol.list_key)
    at = max((at for at, element in enumerate(list_) if SUMMARY in element), default=-1)
    tail = list_[at + 1:]
    if at < 0 and list_ != sent:
        yield f"{len(sent)} messages were sent, {len(list_)} arrived, and nothing says why"
    if at >= 0 and (len(tail) > len(sent) or tail != sent[len(sent) - len(tail):]) and not is_shortened(sent, tail):
        yield f"the {len(tail)} messages behind the summary are not the end of the list"
    if at >= 0 and not tail and not set(MARK.findall(sent[-1])) & set(MARK.findall(list_[at])):
        yield "what was said last is gone"
    yield from protocol.role_faults([json.loads(element) for element in list_])
    calls = set()
    for element in list_:
        for call, answered in protocol.calls_and_results(json.loads(element)):
            calls.add(call)
            if answered and answered not in calls:
                yield f"a result without its call: {answered}"


def is_shortened(sent, tail):
    """Whether the list ends alike but for messages that are shown shorter."""
    end = sent[len(sent) - len(tail):]
    return len(end) == len(tail) and all(a == b or "recall m" in b for a, b in zip(end, tail))


class Count:
    """Requests to go, and what went wrong."""

    def __init__(self, requests):
        self.lock, self.left, self.faults = threading.Lock(), requests, []
        # By protocol, and whether the reply was a stream.
        self.compacted = collections.Counter()

    def next(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0 and len(self.faults) < 10


def keep_fault(folder, name, sent, arrived, headers, faults):
    """Writes down a request that went wrong, as it was sent and as it arrived: most do not come again."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{name}.json"), "w") as file:
        json.dump({"faults": faults, "headers": headers, "sent": [json.loads(message) for message in sent], "arrived": arrived}, file, indent=1)


def work(seed, count, table, address, folder):
    dice = random.Random(seed)
    client = http.client.HTTPConnection(address, timeout=60)
    while count.next():
        protocol, tenant, kept, messages = next_request(dice, table)
        is_streamed = dice.random() < 0.3
        sent = [dumps(element) for message in messages for element in protocol.elements(message)]
        key = f"key-of-{tenant}"
        headers = {"content-type": "application/json", protocol.key_header: key if protocol.key_header == "x-api-key" else f"Bearer {key}"}
        arrived, told = None, {}
        try:
            client.request("POST", protocol.path, protocol.body(sent, is_streamed), headers)
            reply = client.getresponse()
            told, answer = dict(reply.getheaders()), reply.read()
            if reply.status == 200:
                arrived = echo_of(protocol, answer, is_streamed)
                faults = list(faults_of(protocol, sent, arrived))
            else:
                faults = [f"{reply.status}: {answer[:200]}"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, StopIteration) as error:
            # A reply that broke off, or is none.
            faults = [f"{type(error).__name__}: {error}"]
            client.close()
        with count.lock:
            count.compacted[protocol.name, is_streamed] += SUMMARY in (arrived or "")
            if faults:
                count.faults += [f"seed {seed}, {protocol.name}, {tenant}, {len(messages)} messages: {fault}" for fault in faults]
                keep_fault(folder, f"{seed}-{len(count.faults)}", sent, arrived, told, faults)
        table.put(dice, protocol, tenant, kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=f"{ROOT}/target/debug")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--protocol", choices=[protocol.name for protocol in PROTOCOLS], help="one alone; all if left out")
    parser.add_argument("--store", default="memory", help="where the proxy keeps sessions; a file lies in a folder that goes with the run")
    parser.add_argument("--faults", default=os.path.join(tempfile.gettempdir(), "epitome-forks-faults"), help="where requests that went wrong are written")
    options = parser.parse_args()
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    upstream.daemon_threads = True
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="epitome-forks-") as home:
        environment = {"HOME": home, "PATH": os.environ["PATH"], "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        proxy, address = started([f"{options.binary}/epitome", "serve", "--listen", "127.0.0.1:0", "--upstream",
                                  f"http://127.0.0.1:{upstream.server_port}", "--window", str(WINDOW), "--store",
                                  options.store if options.store == "memory" else os.path.join(home, options.store)], environment)
        protocols = [protocol for protocol in PROTOCOLS if options.protocol in (None, protocol.name)]
        count, table = Count(options.requests), Table(protocols)
        threads = [threading.Thread(target=work, args=(f"{options.seed}.{at}", count, table, address, options.faults)) for at in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with open(f"/proc/{proxy.pid}/status") as status:
            memory = next(line.split()[1] for line in status if line.startswith("VmRSS"))
        proxy.terminate()
        proxy.wait()
    print("\n".join(count.faults))
    if count.faults:
        print(f"requests that went wrong are in {options.faults}")
    # Ten faults end it early.
    sent = options.requests - max(count.left, 0)
    ways = ", ".join(f"{name}{' streamed' if is_streamed else ''} {compacted:,}" for (name, is_streamed), compacted in sorted(count.compacted.items()))
    print(f"{sent:,} requests, {count.compacted.total():,} of them compacted ({ways}), {len(count.faults)} faults; resident {int(memory) // 1024} MB")
    is_every_way_seen = all(count.compacted[protocol.name, is_streamed] for protocol in protocols for is_streamed in (True, False))
    return 1 if count.faults or not is_every_way_seen else 0


if __name__ == "__main__":
    sys.exit(main())
