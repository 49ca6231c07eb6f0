#!/usr/bin/env python3
"""What a request through `epitome serve` costs with its sessions in a store, beside one with them in memory.

One server keeps its sessions in a new SQLite file, the other in memory; both stand in front of a provider that answers at once.
A conversation of each size goes on turn by turn through both and past them, in an order that changes with every turn, so that
what the machine does beside falls on all alike. Nothing is compacted. Prints medians in milliseconds and their ratio, as a table
for STORE.md, with what the first request of a conversation takes, which is stored whole.

    ./bench/serve_store.py [PROGRAM]      target/release/epitome unless named

    TURNS=200     requests of each kind
    FOLDER=PATH   where the store lies: the disk to measure
"""

import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / "epitome").resolve()
TURNS = int(os.environ.get("TURNS", 200))
SIZES = {"1 KB": 1_000, "100 KB": 100_000, "1 MB": 1_000_000}
# No provider has such a window: nothing is ever due.
WINDOW = "100000000"
WORDS = "The reader of session files counts each line once, and what it cannot read it tells. ".split()
ANSWER = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "stop_reason": "end_turn",
          "stop_sequence": None, "content": [{"type": "text", "text": "Done."}],
          "usage": {"input_tokens": 0, "output_tokens": 3}}


def answer_all(connection):
    """Answers each request of a connection as soon as it is there."""
    body = json.dumps(ANSWER).encode()
    reply = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    stream = connection.makefile("rb")
    while stream.readline():
        length = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        stream.read(length)
        connection.sendall(reply)


def provide():
    """A provider in a process of its own; its port goes to standard output."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=answer_all, args=(connection,), daemon=True).start()


class Program:
    """A program that says where it listens in its first line; it ends with its block."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment)
        self.port = int(self.process.stdout.readline().strip().rsplit(":", 1)[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)


class Client:
    """One connection that stays open; sending takes so many seconds."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, body):
        headers = {"content-type": "application/json", "x-api-key": "a-key", "anthropic-version": "2023-06-01"}
        begun = time.perf_counter()
        self.connection.request("POST", "/v1/messages", body, headers)
        response = self.connection.getresponse()
        told = response.read()
        took = time.perf_counter() - begun
        assert response.status == 200, told
        return took


def said(rng, size):
    words, length = [], 0
    while length < size:
        words.append(rng.choice(WORDS))
        length += len(words[-1]) + 1
    return " ".join(words)


def conversation(rng, size):
    """A history of about that many bytes: messages of at most 4 KB, the person speaking first."""
    each = max(1, size // 4_000)
    count = each + (1 - each % 2)
    return [{"role": "user" if at % 2 == 0 else "assistant", "content": said(rng, size // count)} for at in range(count)]


def body(messages):
    return json.dumps({"model": "claude-haiku-4-5", "max_tokens": 100, "messages": messages}).encode()


def measure(rng, clients, size):
    """Seconds of the first request and of those that go on, by client."""
    first = {name: [] for name in clients}
    later = {name: [] for name in clients}
    messages = conversation(rng, size)
    for turn in range(TURNS):
        # A new conversation now and then, so that first requests are told apart and bodies keep their size.
        if turn % 20 == 0:
            messages = conversation(rng, size)
        order = list(clients)
        rng.shuffle(order)
        sent = body(messages)
        for name in order:
            (first if turn % 20 == 0 else later)[name].append(clients[name].send(sent))
        messages = [*messages, {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
                    {"role": "user", "content": said(rng, min(size // 10, 200))}]
    return first, later


def main():
    rng = random.Random(11)
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as folder, Program(sys.executable, __file__, "--provide") as provider:
        serve = [str(PROGRAM), "serve", "--listen", "127.0.0.1:0", "--window", WINDOW, "--log-level", "error",
                 "--upstream", f"http://127.0.0.1:{provider.port}"]
        home = {"HOME": folder, "XDG_CONFIG_HOME": folder}
        with Program(*serve, "--store", "memory", **home) as memory, Program(*serve, "--store", f"{folder}/epitome.db", **home) as stored:
            clients = {"past": Client(provider.port), "memory": Client(memory.port), "store": Client(stored.port)}
            measure(rng, clients, 1_000)
            print("| body | request | past it, ms | in memory, ms | in a store, ms | store / memory |\n|---|---|---|---|---|---|")
            for label, size in SIZES.items():
                for kind, taken in zip(("first", "goes on"), measure(rng, clients, size)):
                    past, memory_ms, store_ms = (statistics.median(taken[name]) * 1000 for name in ("past", "memory", "store"))
                    ratio = store_ms / memory_ms
                    print(f"| {label} | {kind} | {past:.2f} | {memory_ms:.2f} | {store_ms:.2f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    provide() if sys.argv[1:] == ["--provide"] else main()
