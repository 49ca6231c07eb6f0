#!/usr/bin/env python3
"""A day of many agents in fast motion through a real proxy, and what its memory does meanwhile.

    tests/proxy/day.py [--conversations 20000] [--seed 1] [--binary FOLDER] [--store day.db]

Conversations come and go as those of a team's agents do. Each is a loop of calls and results in one of the three protocols, most of them long
enough to be compacted; behind its newest words stands what is not there the next time (a clock, the state of the files); beside it go
requests that stand alone: titles, one-shot checks, counts of tokens. Resident memory is read all along.

Fails where a request is not answered with 200, where nothing was compacted, or where memory is not flat: where it is at its highest in the
last quarter by more than a tenth above its highest in the quarter before that, or in that one above the second. The first quarter fills
what the proxy holds at most: 256 conversations, as many requests that stand alone, 16,384 responses by their names, and what its lists of
hashes have room for. Fewer than 16,000 conversations do not fill all of that.
"""
import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from corpus import ROOT, started

WINDOW = 5_000
THREADS = 4
# Conversations that one thread goes on with in turn: people do not wait for one another.
OPEN_MAX = 6
# Requests of a conversation, at least and at most.
REQUESTS = (4, 24)
WORDS = "the parser reads a line and keeps its number while tests of the store wait for the disk to answer again".split()
SAMPLES = 80
# How much more than before memory may be at its highest.
GROWTH_MAX = 1.1


class Provider(BaseHTTPRequestHandler):
    """Answers everything at once, in the shape of its path."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    numbers = iter(range(1 << 60))

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        data = json.dumps(reply_of(self.path, next(Provider.numbers))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def reply_of(path, number):
    """What the model says; nobody looks at it, since clients here write their replies themselves."""
    usage = {"input_tokens": 10, "output_tokens": 3}
    if path.endswith("count_tokens"):
        return {"input_tokens": 10}
    if path.endswith("responses"):
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "so be it", "annotations": []}]}
        return {"id": f"resp_{number}", "object": "response", "status": "completed", "model": "gpt-5.2", "output": [item], "usage": {**usage, "total_tokens": 13}}
    if path.endswith("completions"):
        message = {"role": "assistant", "content": "so be it"}
        return {"id": f"chat_{number}", "object": "chat.completion", "model": "gpt-4o", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}}
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "stop_reason": "end_turn", "stop_sequence": None,
            "content": [{"type": "text", "text": "so be it"}], "usage": usage}


class Anthropic:
    """How requests, replies with a call, its results and words are written in Anthropic Messages."""

    path = "/v1/messages"

    def body(self, messages, system):
        return {"model": "claude-haiku-4-5", "max_tokens": 200, "system": system, "messages": messages}

    def said(self, text):
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def exchange(self, call, arguments, text, result):
        return [{"role": "assistant", "content": [{"type": "text", "text": text}, {"type": "tool_use", "id": call, "name": "Read", "input": arguments}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": result}]}]

    def answer(self, text):
        return {"role": "assistant", "content": [{"type": "text", "text": text}]}

    def with_trailer(self, messages, text):
        last = messages[-1]
        return messages[:-1] + [{**last, "content": last["content"] + [{"type": "text", "text": f"<system-reminder>{text}</system-reminder>"}]}]


class Chat:
    """The same in Chat Completions."""

    path = "/v1/chat/completions"

    def body(self, messages, system):
        return {"model": "gpt-4o", "max_tokens": 200, "messages": [{"role": "system", "content": system}, *messages]}

    def said(self, text):
        return {"role": "user", "content": text}

    def exchange(self, call, arguments, text, result):
        function = {"name": "Read", "arguments": json.dumps(arguments)}
        return [{"role": "assistant", "content": text, "tool_calls": [{"id": call, "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": call, "content": result}]

    def answer(self, text):
        return {"role": "assistant", "content": text}

    def with_trailer(self, messages, text):
        return [*messages, {"role": "user", "content": text}]


class Responses:
    """The same in Responses."""

    path = "/v1/responses"

    def body(self, messages, system):
        return {"model": "gpt-5.2", "max_output_tokens": 200, "store": False, "instructions": system, "input": messages}

    def said(self, text):
        return {"role": "user", "content": text}

    def exchange(self, call, arguments, text, result):
        return [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
                {"type": "function_call", "call_id": call, "name": "Read", "arguments": json.dumps(arguments)},
                {"type": "function_call_output", "call_id": call, "output": result}]

    def answer(self, text):
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    def with_trailer(self, messages, text):
        return [*messages, {"role": "user", "content": text}]


PROTOCOLS = (Anthropic(), Chat(), Responses())


def words(dice, most):
    """Words that no other text has all of."""
    return f"{dice.getrandbits(48):012x} " + " ".join(dice.choice(WORDS) for _ in range(dice.randint(5, most)))


class Conversation:
    """One agent's conversation: what it has said so far, and how long it will go on."""

    def __init__(self, dice):
        self.dice, self.protocol = dice, dice.choice(PROTOCOLS)
        self.tenant = dice.randrange(20)
        self.left = dice.randint(*REQUESTS)
        self.messages = [self.protocol.said(words(dice, 200))]

    def requests(self):
        """Its next requests, as paths and bodies."""
        dice, protocol = self.dice, self.protocol
        clock = f"It is now {dice.random()}; open files: {words(dice, 60)}"
        yield protocol.path, protocol.body(protocol.with_trailer(self.messages, clock), f"You write code. Today is day {dice.randrange(9)}.")
        if dice.random() < 0.15:
            # A title, a check of one command: nobody goes on with it.
            yield protocol.path, protocol.body([protocol.said(f"Write a title for this: {words(dice, 40)}")], "You write titles.")
        if protocol.path == "/v1/messages" and dice.random() < 0.1:
            yield f"{protocol.path}/count_tokens", {key: value for key, value in protocol.body(self.messages, "You write code.").items() if key != "max_tokens"}
        self.left -= 1
        self.go_on()

    def go_on(self):
        """What the model did, and what came of it or was said to it."""
        dice = self.dice
        if dice.random() < 0.7:
            self.messages += self.protocol.exchange(f"call_{dice.getrandbits(60):015x}", {"path": f"src/{dice.getrandbits(16)}.rs"}, words(dice, 40), words(dice, 600))
        else:
            self.messages += [self.protocol.answer(words(dice, 120)), self.protocol.said(words(dice, 80))]


class Day:
    """Conversations to come, what was sent, and what went wrong."""

    def __init__(self, conversations, pid):
        self.lock, self.left, self.total, self.pid = threading.Lock(), conversations, conversations, pid
        self.sent, self.compacted, self.faults, self.samples = 0, 0, [], []

    def begin(self, dice):
        """A new conversation, while there are any."""
        with self.lock:
            if self.left <= 0 or self.faults:
                return None
            self.left -= 1
            if self.left % max(1, self.total // SAMPLES) == 0:
                self.samples.append((self.sent, resident_kb(self.pid)))
        return Conversation(dice)

    def note(self, reply, answer):
        with self.lock:
            self.sent += 1
            self.compacted += reply.getheader("x-epitome-compaction", "").startswith("made")
            if reply.status != 200:
                self.faults.append(f"{reply.status}: {answer[:200]}")


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmRSS")))


def work(seed, day, address):
    """One thread's share of the day: several conversations, a request of each in turn."""
    dice = random.Random(seed)
    client = http.client.HTTPConnection(address, timeout=60)
    begun = []
    while True:
        while len(begun) < OPEN_MAX and (fresh := day.begin(dice)):
            begun.append(fresh)
        if not begun:
            return
        one = dice.choice(begun)
        for path, body in one.requests():
            headers = {"content-type": "application/json", "x-api-key": f"key-{one.tenant}", "authorization": f"Bearer key-{one.tenant}"}
            client.request("POST", path, json.dumps(body), headers)
            reply = client.getresponse()
            day.note(reply, reply.read())
        if one.left <= 0 or day.faults:
            begun.remove(one)


def growths(samples):
    """The highest of each quarter, in MB, and what is wrong with them."""
    quarter = len(samples) // 4
    highest = [max(kb for _, kb in samples[at * quarter:(at + 1) * quarter]) / 1024 for at in range(4)]
    named = ("second", "third", "last")
    wrong = [f"memory grew from {highest[at]:.0f} MB in the {named[at - 1]} quarter to {highest[at + 1]:.0f} MB in the {named[at]}"
             for at in (1, 2) if highest[at + 1] > highest[at] * GROWTH_MAX]
    return highest, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=f"{ROOT}/target/debug")
    parser.add_argument("--conversations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", default="day.db", help="`memory`, or a file in a folder that goes with the run")
    parser.add_argument("--samples", action="store_true", help="print every sample")
    options = parser.parse_args()
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    upstream.daemon_threads = True
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="epitome-day-") as home:
        environment = {"HOME": home, "PATH": os.environ["PATH"], "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        proxy, address = started([f"{options.binary}/epitome", "serve", "--listen", "127.0.0.1:0", "--upstream",
                                  f"http://127.0.0.1:{upstream.server_port}", "--window", str(WINDOW), "--store",
                                  options.store if options.store == "memory" else os.path.join(home, options.store)], environment)
        day, begun = Day(options.conversations, proxy.pid), time.monotonic()
        threads = [threading.Thread(target=work, args=(f"{options.seed}.{at}", day, address)) for at in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        proxy.terminate()
        proxy.wait()
    if options.samples:
        print("\n".join(f"{sent:>8,} requests  {kb / 1024:.1f} MB" for sent, kb in day.samples))
    highest, wrong = growths(day.samples)
    faults = day.faults + wrong + ([] if day.compacted else ["nothing was compacted"])
    print("\n".join(faults))
    print(f"{options.conversations:,} conversations, {day.sent:,} requests, {day.compacted:,} compactions in {time.monotonic() - begun:.0f} s; "
          f"resident at most {', '.join(f'{mb:.0f}' for mb in highest)} MB in the four quarters; {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
