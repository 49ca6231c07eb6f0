#!/usr/bin/env python3
"""Real agents through the proxy, a session each, and what became of every request; docs/reference/real-agents.md has the table.

    tests/agents/proxied.py [AGENT…] [--turns 20] [--window 64000] [--closes] [--summarizer] [--keep FOLDER]
                            [--upstream "--bind-thinking …"] [--serve "--preset pi …"]

Agents are installed where AGENTS says (target/agents), as their registries have them. Each gets a home and a project of its own, and
calls the scripted upstream through `epitome serve` with a store. Relays before and behind the proxy keep what passes.
Fails where an agent saw an error, a request was refused, bytes that the client repeated were not repeated, or something that the person
asked to be remembered was in no request any more.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from passage import judge
from registry import Failed, install
from relay import Relay
from rosters import ALL, Agent

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
EPITOME = Path(os.environ.get("EPITOME", BUILT / "epitome")).resolve()
UPSTREAM = Path(os.environ.get("SCRIPTED_UPSTREAM", BUILT / "scripted-upstream")).resolve()
# One turn of an agent with several calls, on a busy machine.
TURN_SECONDS_MAX = 240
# The files that the scripted upstream asks for; what reading one brings is worth a compaction after some turns.
FILES = ("src/lib.rs", "src/parse.rs", "src/session.rs", "tests/replay.rs", "docs/guide.md", "src/index.ts")
LINES = 150
# Sentences of a message of the person's, about 2,700 tokens.
STEPS = 130
# What the person asks to be remembered in each of them.
MARKER = re.compile(r"MK\d{3}")


def words(turn: int) -> str:
    """What is said in a turn: something to find again, and a long task."""
    task = " ".join(f"Step {at} of part {turn} reads the line, keeps its number and waits for the store." for at in range(STEPS))
    return f"Remember marker MK{turn:03} and go on. {task}"


def started(command, **options):
    """A server and the address it says it listens on."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    for line in child.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return child, found.group()
    raise SystemExit(f"{command[0]} does not start")


class Stage:
    """Upstream, proxy and the relays around it; a home and a project for an agent."""

    def __init__(self, folder: Path, agent: Agent, options):
        self.folder, self.home, self.project = folder, folder / "home", folder / "project"
        self.home.mkdir()
        for name in FILES:
            file = self.project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"line {at} of {name} says what the parser does with step {at}\n" for at in range(LINES)))
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        self.upstream, address = started([UPSTREAM, "--listen", "127.0.0.1:0", "--window", str(options.window), "--record",
                                          "--until-stdin-closes", *["--lenient"][:agent.lenient], *shlex.split(options.upstream)])
        self.upstream_url = address
        self.back = Relay(address, closes=options.closes)
        self.log = open(folder / "serve.log", "w+")
        settings = folder / "epitome.toml"
        settings.write_text(f'[alias.scripted]\nprovider = "llama-cpp"\nbase_url = "{self.back.url}/v1"\nmodel = "gpt-4o"\n'
                            'window = 64000\noutput_max = 2000\n')
        model = ["--config", str(settings), "--summarizer", "scripted"] if options.summarizer else []
        keys = {"HOME": str(self.home), "PATH": os.environ["PATH"], "OPENAI_API_KEY": "dummy", "ANTHROPIC_API_KEY": "dummy"}
        self.proxy, self.proxy_url = started(
            [EPITOME, "serve", "--listen", "127.0.0.1:0", "--upstream", self.back.url, "--window", str(options.window),
             "--store", str(folder / "sessions.db"), *model, *shlex.split(options.serve)], stderr=self.log, env=keys)
        self.front = Relay(self.proxy_url, numbers=True)

    def get(self, url: str):
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)

    def close(self):
        self.proxy.terminate()
        self.proxy.wait(timeout=60)
        self.upstream.stdin.close()
        self.upstream.wait(timeout=20)


def run_turn(stage: Stage, agent: Agent, environment: dict, turn: int) -> str:
    """One turn; what went wrong, or nothing."""
    command = agent.command(turn, words(turn))
    try:
        done = subprocess.run(command, cwd=stage.project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TURN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return f"turn {turn}: longer than {TURN_SECONDS_MAX} s"
    (stage.folder / f"turn-{turn}.txt").write_text(f"{done.stdout}\n--\n{done.stderr}")
    if done.returncode != 0 or agent.is_error(done.stdout):
        return f"turn {turn}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"
    return ""


def hold_session(stage: Stage, agent: Agent, turns: int) -> list[str]:
    """All turns of a session; what the agent said went wrong."""
    environment = agent.environment(stage.home, stage.front.url, install(*agent.package))
    if agent.lines:
        lines = "\n".join(words(turn) for turn in range(turns)) + "\n/exit\n"
        done = subprocess.run(agent.command(0, ""), cwd=stage.project, env=environment, input=lines, capture_output=True, text=True,
                              timeout=TURN_SECONDS_MAX * 4)
        (stage.folder / "turns.txt").write_text(f"{done.stdout}\n--\n{done.stderr}")
        return [] if done.returncode == 0 and not agent.is_error(done.stdout) else [f"exit {done.returncode}: {done.stderr[-300:]}"]
    return [wrong for turn in range(turns) if (wrong := run_turn(stage, agent, environment, turn))]


def told(stage: Stage, agent: Agent, wrong: list[str]) -> dict:
    """What came of a session, as figures."""
    verdict = judge(stage.front.passed, stage.back.passed)
    report = stage.get(f"{stage.upstream_url}/scripted/report")
    sessions = stage.get(f"{stage.proxy_url}/api/v1/sessions")
    sent = {passed.tag: passed for passed in stage.back.passed if passed.tag}
    longest = max(stage.front.passed, key=lambda passed: len(passed.body))
    came, newest = longest.body.decode(), sent[longest.tag].body.decode()
    return {
        "agent": agent.name, "requests": verdict.requests, "others": verdict.others, "compactions": verdict.made, "applied": verdict.applied,
        "early": early(verdict.made, sessions),
        "summary_calls": sum(not passed.tag for passed in stage.back.passed), "sessions": sorted(verdict.sessions.values(), reverse=True),
        "refused": verdict.refused, "errors_at_client": verdict.errors, "hung_up": verdict.hung_up,
        "failed_turns": wrong,
        "violations": report["violations"][:5], "overflows": report["overflows"], "largest_prompt": report["largest_prompt_tokens"],
        "breaks": {"compaction": verdict.compaction_breaks, "client": verdict.client_breaks, "unexplained": verdict.faults},
        "repeated": f"{verdict.common_bytes:,} of {verdict.held_bytes:,}",
        "window": [(one["tokens"], one["fixed"], one["reserve"], one["window"], one["requests"], one["unreported"], one["prompt_tokens"])
                   for one in sessions],
        "markers_lost": sorted(set(MARKER.findall(came)) - set(MARKER.findall(newest))),
        "instructions_lost": lost_instructions(came, newest),
        "reminders_in_summary": summary_of(newest).count("system-reminder"),
    }


def early(made: list[str], sessions: list[dict]) -> list[str]:
    """Compactions of requests that the default trigger does not explain: below 80 % of the window and below what the reply leaves of it."""
    least = min((min(one["window"] * 4 // 5, one["window"] - one["reserve"]) for one in sessions), default=0)
    return [one for one in made if int(re.search(r"before=(\d+)", one).group(1)) < least]


def lost_instructions(came: str, left: str) -> list[str]:
    """Messages of the system's own, wherever they stand in the client's list, that did not leave with it."""
    elements = json.loads(came).get("messages", [])
    system = [element["content"] for element in elements if element["role"] in ("system", "developer")]
    texts = [text if isinstance(text, str) else "".join(part.get("text", "") for part in text) for text in system]
    return [text[:80] for text in texts if json.dumps(text)[1:-1] not in left and json.dumps(text, ensure_ascii=False)[1:-1] not in left]


def summary_of(body: str) -> str:
    """Our summary in a request, where there is one."""
    found = re.search(r"<epitome-summary.*?</epitome-summary", body, re.S)
    return found.group() if found else ""


def try_agent(agent: Agent, options) -> bool:
    try:
        install(*agent.package)
    except Failed as error:
        print(f"{agent.name}: passed over: {error}", file=sys.stderr)
        return True
    folder = Path(options.keep or tempfile.mkdtemp(prefix="epitome-proxied-")) / agent.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stage = Stage(folder.resolve(), agent, options)
    try:
        wrong = hold_session(stage, agent, options.turns)
        figures = told(stage, agent, wrong)
    finally:
        stage.close()
    for name, relay in (("came", stage.front), ("left", stage.back)):
        with open(folder / f"{name}.jsonl", "w") as file:
            for passed in relay.passed:
                file.write(json.dumps({**vars(passed), "body": passed.body.decode(errors="replace")}) + "\n")
    (folder / "figures.json").write_text(json.dumps(figures, indent=1))
    print(json.dumps(figures), flush=True)
    # With --bind-thinking the first refusal teaches that thinking is bound, and is made good.
    refused = [one for one in figures["refused"] if "bound to a different conversation" not in one]
    failures = ("errors_at_client", "early", "markers_lost", "instructions_lost")
    return not (wrong or refused or figures["breaks"]["unexplained"] or any(figures[name] for name in failures))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", help="names; all without one")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--window", type=int, default=64_000)
    parser.add_argument("--upstream", default="--reply-tokens 400 --tool-rounds 3", help="flags of the scripted upstream")
    parser.add_argument("--serve", default="", help="flags of the proxy")
    parser.add_argument("--summarizer", action="store_true", help="a model writes summaries, not the embedded summariser")
    parser.add_argument("--closes", action="store_true", help="an upstream that drops each connection behind its reply")
    parser.add_argument("--keep", help="a folder for what was seen")
    options = parser.parse_args()
    chosen = [agent for agent in ALL if agent.name in options.agents] or ALL
    return 0 if all([try_agent(agent, options) for agent in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())
