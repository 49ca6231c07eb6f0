#!/usr/bin/env python3
"""What a request through `epitome serve` costs as its conversation grows to 1,000 turns, the same bytes being new in each.

A conversation goes on turn by turn through a server with its sessions in a new SQLite file, and past it to a provider that answers at
once. Nothing is compacted. For the turns around the 100th, the 300th and the 1,000th it prints the least and the median of what a request
takes past the server and through it, and what the server adds, in milliseconds, with the processor time the server spent on each.

    ./bench/grow.py [PROGRAM]     target/release/epitome unless named

    TURNS=1000    how many turns
    TURN=500      bytes that are new in each
"""

import os
import random
import statistics
import sys
import tempfile

from serve_store import PROGRAM, WINDOW, Client, Program, body, said

TURNS = int(os.environ.get("TURNS", 1000))
TURN = int(os.environ.get("TURN", 500))
# So many turns around a point are looked at.
AROUND = 20


def cpu_ms(pid):
    """Processor time of the threads of a process so far, to the nanosecond; clock ticks are coarser than a request."""
    threads = os.listdir(f"/proc/{pid}/task")
    return sum(int(open(f"/proc/{pid}/task/{thread}/schedstat").read().split()[0]) for thread in threads) / 1e6


def row(turn, taken, spent, size):
    window = slice(max(0, turn - AROUND), turn)
    past, through = ([seconds * 1000 for seconds in taken[name][window]] for name in ("past", "store"))
    added = [there - here for here, there in zip(past, through)]
    cpu = (spent[turn - 1] - spent[window.start]) / (turn - 1 - window.start)
    print(f"| {turn} | {size[turn - 1] / 1000:.0f} | {min(past):.2f}, {statistics.median(past):.2f} | {min(through):.2f}, {statistics.median(through):.2f} "
          f"| {min(added):.2f}, {statistics.median(added):.2f} | {cpu:.2f} |", flush=True)
    return cpu


def main():
    rng = random.Random(12)
    with tempfile.TemporaryDirectory() as folder, Program(sys.executable, os.path.join(os.path.dirname(__file__), "serve_store.py"), "--provide") as provider:
        serve = [str(PROGRAM), "serve", "--listen", "127.0.0.1:0", "--window", WINDOW, "--log-level", "error",
                 "--upstream", f"http://127.0.0.1:{provider.port}", "--store", f"{folder}/epitome.db"]
        with Program(*serve, HOME=folder, XDG_CONFIG_HOME=folder) as stored:
            clients = {"past": Client(provider.port), "store": Client(stored.port)}
            taken, spent, size = {name: [] for name in clients}, [], []
            messages = [{"role": "user", "content": said(rng, TURN // 2)}]
            for _ in range(TURNS):
                sent = body(messages)
                size.append(len(sent))
                for name in rng.sample(list(clients), len(clients)):
                    taken[name].append(clients[name].send(sent))
                spent.append(cpu_ms(stored.process.pid))
                messages += [{"role": "assistant", "content": [{"type": "text", "text": said(rng, TURN // 2)}]},
                             {"role": "user", "content": said(rng, TURN // 2)}]
    print("| turn | body, KB | past it, ms: least, median | through it | added | processor ms each |\n|---|---|---|---|---|---|")
    cpu = [row(turn, taken, spent, size) for turn in sorted({100, 300, TURNS}) if turn <= TURNS]
    print(f"\nThe last takes {cpu[-1] / cpu[0]:.2f} times the processor time of the hundredth.")


if __name__ == "__main__":
    main()
