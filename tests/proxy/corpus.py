#!/usr/bin/env python3
"""Sends every transcript of the corpus through a real proxy, in each protocol it can be written in, call by call.

    tests/proxy/corpus.py [--binary FOLDER] [--calls N] [--only TEXT] [--verbose]

A transcript is written as one request; its calls are the beginnings of that request's list. They go through `epitome serve` to the
scripted upstream, which refuses what a provider refuses. Of what arrives there:

- no request breaks a rule of its protocol, as long as what was sent breaks none;
- a request begins with the bytes of the one before it, except where a compaction was made;
- what the client said last arrives, and every element that arrives is the client's own bytes, but for those that stand for what went;
- there are no more breaks than compactions, and there are compactions where the window is too small.
"""
import argparse
import glob
import http.client
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "corpus")
# Where the list is, where it is posted to, and what stands for a compacted part in it.
PROTOCOLS = {
    "anthropic": ("messages", "/v1/messages"),
    "openai-chat": ("messages", "/v1/chat/completions"),
    "openai-responses": ("input", "/v1/responses"),
}
SUMMARY = "<epitome-summary"
# What tells that something is left out: a summary, or a pointer in the place of a message's words; where there is no summary, a marker.
MARKERS = (SUMMARY, "left_out", "recall m", "[left out]", " tokens in all …]", " characters in all]", "[tool result m")
# A window that some conversations fill several times, and the smallest that leaves room for anything.
WINDOW_TOKENS, WINDOW_TOKENS_MIN = 32_000, 8_000
BYTES_PER_TOKEN = 4


def started(command, environment):
    """A server, and the address it says it listens on."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.PIPE, text=True, env=environment)
    for line in child.stdout:
        at = line.find("http://127.0.0.1:")
        if at >= 0:
            return child, line[at + len("http://"):].split()[0].rstrip("/,;")
    raise SystemExit(f"{command[0]} does not start")


def slices(text, key):
    """The bytes of each element of a body's list."""
    decoder = json.JSONDecoder()
    at = text.index(f'"{key}"') + len(key) + 2
    at = text.index("[", at) + 1
    found = []
    while True:
        while text[at] in " \n\r\t,":
            at += 1
        if text[at] == "]":
            return found
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = end


def is_reply(element):
    """Whether the model wrote it."""
    kind = element.get("type", "message")
    if kind == "message":
        return element.get("role") == "assistant"
    return not kind.endswith("_output") and kind not in ("item_reference", "compaction", "additional_tools", "mcp_approval_response")


class Conversation:
    """One transcript as a request of one protocol."""

    def __init__(self, name, protocol, body, calls):
        self.name, self.protocol = name, protocol
        self.key, self.path = PROTOCOLS[protocol]
        self.elements = body.pop(self.key)
        self.texts = [json.dumps(element, ensure_ascii=False, separators=(",", ":")) for element in self.elements]
        body.pop("stream", None)
        self.head = json.dumps(body, ensure_ascii=False, separators=(",", ":"))[:-1]
        ends = [at for at in range(1, len(self.elements)) if is_reply(self.elements[at]) and not is_reply(self.elements[at - 1])]
        if not is_reply(self.elements[-1]):
            ends.append(len(self.elements))
        step = max(1, len(ends) / calls)
        self.ends = sorted({ends[min(len(ends) - 1, int(at * step))] for at in range(calls)} | set(ends[-3:])) if ends else []
        tokens = sum(map(len, self.texts)) // BYTES_PER_TOKEN
        self.refused = set()
        # What stands before the history, such as tools, must leave room for some of it.
        before = len(self.head) // BYTES_PER_TOKEN
        self.window = min(WINDOW_TOKENS, max(WINDOW_TOKENS_MIN, tokens // 3)) + 2 * before

    def is_refused(self, end):
        """Whether the client's own request breaks a rule: those of transcripts that record nonsense do."""
        return end in self.refused

    def request(self, end):
        return f'{self.head},"{self.key}":[{",".join(self.texts[:end])}]}}'


def sent_through(conversation, binary):
    """What arrived of each request, with the breaches and the compactions that were told."""
    with tempfile.TemporaryDirectory(prefix="epitome-proxy-") as home:
        environment = {"HOME": home, "PATH": os.environ["PATH"], "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        upstream, there = started([f"{binary}/scripted-upstream", "--record", "--until-stdin-closes", "--tool-rounds", "0",
                                   "--window", "100000000"], environment)
        proxy, here = started([f"{binary}/epitome", "serve", "--listen", "127.0.0.1:0", "--upstream", f"http://{there}",
                               "--window", str(conversation.window), "--store", "memory"], environment)
        try:
            client = http.client.HTTPConnection(here, timeout=120)
            statuses = []
            for end in conversation.ends:
                headers = {"content-type": "application/json", "x-api-key": "k", "authorization": "Bearer k"}
                client.request("POST", conversation.path, conversation.request(end).encode(), headers)
                reply = client.getresponse()
                reply.read()
                statuses.append(reply.status)
            client.request("GET", "/api/v1/sessions")
            sessions = json.loads(client.getresponse().read())
            direct = http.client.HTTPConnection(there, timeout=120)
            direct.request("GET", "/scripted/report")
            report = json.loads(direct.getresponse().read())
            for end, status in zip(conversation.ends, statuses):
                if status != 200:
                    direct.request("POST", conversation.path, conversation.request(end).encode(), headers)
                    reply = direct.getresponse()
                    reply.read()
                    conversation.refused |= {end} if reply.status != 200 else set()
            return statuses, report, sessions
        finally:
            proxy.terminate()
            upstream.stdin.close()
            proxy.wait()
            upstream.wait()


def faults_of(conversation, statuses, report, sessions):
    """What is wrong with what arrived."""
    arrived = [slices(one["body"], conversation.key) for one in report["recorded"]]
    own = set(conversation.texts)
    if len(arrived) != len(conversation.ends):
        yield f"{len(arrived)} requests arrived of {len(conversation.ends)}"
        return
    breaks = 0
    for at, (end, list_) in enumerate(zip(conversation.ends, arrived)):
        if statuses[at] != 200 and not conversation.is_refused(end):
            yield f"call {at}: {statuses[at]}"
        if at > 0 and list_[:len(arrived[at - 1])] != arrived[at - 1]:
            breaks += 1
        foreign = [text for text in list_ if text not in own]
        if len(list_) < end and not any(marker in text for text in foreign for marker in MARKERS):
            yield f"call {at}: {end - len(list_)} elements are gone, and nothing says so"
        if list_[-1] != conversation.texts[end - 1] and not foreign:
            yield f"call {at}: the newest element is not the last"
        order = [conversation.texts[:end].index(text) for text in list_ if text in own]
        if len(set(conversation.texts[:end])) == end and order != sorted(order):
            yield f"call {at}: elements are out of order"
    made = sum(sum(one.get("outcome") in ("compacted", "pruned") for one in session["compactions"]) for session in sessions)
    longest = len(conversation.request(conversation.ends[-1])) // BYTES_PER_TOKEN
    if not made and longest > 2 * conversation.window:
        yield f"about {longest} tokens in a window of {conversation.window}, and no compaction"
    if breaks > made:
        yield f"{breaks} breaks of the prefix, {made} compactions"
    for breach in report["violations"]:
        if not conversation.is_refused(conversation.ends[breach["request"] - 1]):
            yield f"breach: {json.dumps(breach)}"


def conversations(path, binary, calls):
    """A transcript in every protocol."""
    for protocol in PROTOCOLS:
        written = subprocess.run([f"{binary}/epitome", "context", path, "--to", protocol, "--window", "900M"], capture_output=True, check=False)
        if written.returncode != 0:
            yield protocol, None, written.stderr.decode().strip()
            continue
        body = json.loads(written.stdout)
        body.setdefault("model", "claude-haiku-4-5" if protocol == "anthropic" else "gpt-4o")
        if protocol == "anthropic":
            body.setdefault("max_tokens", 500)
        if not body[PROTOCOLS[protocol][0]]:
            yield protocol, None, "it says nothing"
            continue
        yield protocol, Conversation(os.path.relpath(path, CORPUS), protocol, body, calls), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=f"{ROOT}/target/debug")
    parser.add_argument("--calls", type=int, default=24)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    files = sorted(glob.glob(f"{CORPUS}/**/*.zst", recursive=True))
    files = [path for path in files if options.only in path]

    def run(path):
        lines, bad = [], 0
        for protocol, conversation, why in conversations(path, options.binary, options.calls):
            if conversation is None:
                lines.append(f"  {protocol}: not written: {why}")
                bad += 1
                continue
            statuses, report, sessions = sent_through(conversation, options.binary)
            faults = list(faults_of(conversation, statuses, report, sessions))
            made = sum(len(session["compactions"]) for session in sessions)
            if faults or options.verbose:
                lines.append(f"  {protocol}: {len(statuses)} calls, {len(sessions)} sessions, {made} compactions, window {conversation.window:,}")
            lines += [f"    {fault}" for fault in faults[:8]]
            bad += bool(faults)
        return path, lines, bad

    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for path, lines, bad in pool.map(run, files):
            failed += bad
            if lines:
                print(os.path.relpath(path, CORPUS))
                print("\n".join(lines), flush=True)
    print(f"{len(files)} transcripts in {len(PROTOCOLS)} protocols: {failed} went wrong" if failed else f"{len(files)} transcripts in {len(PROTOCOLS)} protocols: all well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
