#!/usr/bin/env python3
"""How long `epitome sessions` takes on many files, beside what it takes to look at them at all.

Makes a home with 5,000 session files (SESSIONS names another number) of Claude Code, Codex and pi, 8 to 512 KB each, and times in
turns, for several rounds: `find` with the length and time of each file; that, and `head` over the first 64 KB of each; and the
program, without its index and with it. Prints the medians and their ratios as a table for RESULTS.md. The files are in the page
cache throughout.

    ./bench/sessions.py [PROGRAM]      target/release/epitome unless named
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / "epitome").resolve()
SESSIONS = int(os.environ.get("SESSIONS", 5_000))
ROUNDS = int(os.environ.get("ROUNDS", 5))
BYTES_MIN, BYTES_MAX = 8_000, 512_000
TEXT = "The reader of session files counts each line once, and what it cannot read it tells. " * 20


def claude(identity, project, turns):
    for at in range(turns):
        record = {"uuid": f"{identity}-{at}", "parentUuid": f"{identity}-{at - 1}" if at else None, "sessionId": identity,
                  "cwd": project, "isSidechain": False, "timestamp": "2026-01-31T09:30:00.000Z", "version": "2.1.325"}
        if at % 2 == 0:
            yield record | {"type": "user", "message": {"role": "user", "content": TEXT}}
        else:
            usage = {"input_tokens": 9, "cache_read_input_tokens": 900 * at, "cache_creation_input_tokens": 800, "output_tokens": 300}
            yield record | {"type": "assistant", "message": {"id": f"msg_{at}", "role": "assistant", "model": "claude-sonnet-4-5",
                                                             "content": [{"type": "text", "text": TEXT}], "usage": usage}}


def codex(identity, project, turns):
    def line(kind, payload):
        return {"timestamp": "2026-01-31T09:30:00.000Z", "type": kind, "payload": payload}
    yield line("session_meta", {"id": identity, "cwd": project, "cli_version": "0.166.0", "base_instructions": {"text": TEXT * 10}})
    yield line("turn_context", {"cwd": project, "model": "gpt-5"})
    for at in range(turns):
        role, kind = ("user", "input_text") if at % 2 == 0 else ("assistant", "output_text")
        yield line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": TEXT}]})
        usage = {"input_tokens": 900 * at, "cached_input_tokens": 800 * at, "output_tokens": 300}
        yield line("event_msg", {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage,
                                                                 "model_context_window": 258_400}})


def pi(identity, project, turns):
    yield {"type": "session", "version": 3, "id": identity, "timestamp": "2026-01-31T09:30:00.000Z", "cwd": project}
    for at in range(turns):
        message = {"role": "user" if at % 2 == 0 else "assistant", "content": [{"type": "text", "text": TEXT}]}
        if at % 2:
            message |= {"model": "gpt-5", "usage": {"input": 9, "output": 300, "cacheRead": 900 * at, "cacheWrite": 0, "cost": {"total": 0.01}}}
        yield {"type": "message", "id": f"{at:08x}", "parentId": f"{at - 1:08x}" if at else None, "message": message}


def make_home(home: Path):
    dice = random.Random(7)
    for number in range(SESSIONS):
        identity, project = str(uuid.UUID(int=dice.getrandbits(128), version=4)), f"/home/somebody/projects/p{number % 40}"
        size = BYTES_MIN * (BYTES_MAX / BYTES_MIN) ** dice.random()
        turns = max(2, int(size / (len(TEXT) + 400)))
        match number % 3:
            case 0:
                path, lines = home / ".claude/projects" / project.replace("/", "-") / f"{identity}.jsonl", claude(identity, project, turns)
            case 1:
                day = f"{1 + number % 28:02}"
                path = home / ".codex/sessions/2026/01" / day / f"rollout-2026-01-{day}T09-30-00-{identity}.jsonl"
                lines = codex(identity, project, turns)
            case _:
                folder = f"--{project.strip('/').replace('/', '-')}--"
                path, lines = home / ".pi/agent/sessions" / folder / f"2026-01-31T09-30-00-000Z_{identity}.jsonl", pi(identity, project, turns)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        written = 1_769_000_000 + dice.randrange(20_000_000)
        os.utime(path, (written, written))


def timed(command, environment) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, shell=isinstance(command, str))
    return time.perf_counter() - start


def main():
    with tempfile.TemporaryDirectory(prefix="epitome-sessions-") as folder:
        home = Path(folder)
        make_home(home)
        total = sum(path.stat().st_size for path in home.rglob("*.jsonl"))
        roots = f"{home}/.claude {home}/.codex {home}/.pi"
        listing = f"find {roots} -name '*.jsonl' -printf '%s %T@ %p\\n'"
        heads = f"find {roots} -name '*.jsonl' -print0 | xargs -0 head -q -c 65536"
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        views = {"sessions": [], "sessions --sort size": ["--sort", "size"], "sessions --all": ["--all"]}
        seen: dict[str, list[float]] = {}
        subprocess.run(f"cat {home}/.*/* >/dev/null 2>&1; {heads} >/dev/null", shell=True, env=environment, check=False)
        for _ in range(ROUNDS):
            seen.setdefault("list", []).append(timed(listing, environment))
            seen.setdefault("heads", []).append(timed(f"{listing} >/dev/null; {heads}", environment))
            for name, flags in views.items():
                shutil.rmtree(home / ".cache", ignore_errors=True)
                for which in ("first", "second"):
                    seen.setdefault(f"{name} {which}", []).append(timed([PROGRAM, "sessions", *flags], environment))
        median = {name: statistics.median(times) for name, times in seen.items()}
        print(f"{SESSIONS:,} files, {total / 1e6:,.0f} MB; median of {ROUNDS} rounds. Listing them takes {1000 * median['list']:.0f} ms, "
              f"listing them and reading their heads {1000 * median['heads']:.0f} ms.\n")
        print("| command | first | over listing and heads | second | over listing |\n|---|---|---|---|---|")
        for name in views:
            first, second = median[f"{name} first"], median[f"{name} second"]
            print(f"| `{name}` | {1000 * first:.0f} ms | {first / median['heads']:.2f}x | {1000 * second:.0f} ms | {second / median['list']:.2f}x |")


if __name__ == "__main__":
    main()
