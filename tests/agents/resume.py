#!/usr/bin/env python3
"""Shows that agents go on with what `epitome compact --resume` wrote.

Each agent, as its registry has it, holds a short session with the scripted upstream; the session is compacted; the
agent resumes the copy for one turn by the command that was printed; and the request of that turn must begin with our
summary, hold what is said now, and be accepted. Prints a line for each agent; `--table` prints the table of
docs/guides/resume.md.

Uses the binaries that are built (EPITOME and SCRIPTED_UPSTREAM name others) and installs the agents with npm below
target/agents (AGENTS names another folder). An agent that cannot be installed is told and passed over.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from registry import Failed, install

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
EPITOME = Path(os.environ.get("EPITOME", BUILT / "epitome")).resolve()
UPSTREAM = Path(os.environ.get("SCRIPTED_UPSTREAM", BUILT / "scripted-upstream")).resolve()

# Turns before the compaction; enough that something is worth a summary.
TURNS = 4
# The words that find a turn in what was sent.
MARKER = "MARKER-{}"
SUMMARY = "<epitome-summary"
# How many messages of person and model may stand before it.
FRONT_MAX = 3


@dataclass
class Agent:
    """How one agent is installed, started and resumed."""

    name: str
    package: str
    # The beginning of a command for a turn, and what is added for a further one.
    start: list[str]
    more: list[str]
    # What stands between the command that was printed and the words that are said.
    options: list[str] = field(default_factory=list)
    # What the printed command becomes where nobody sits at a terminal.
    headless: tuple[str, str] = ("", "")
    model: str = "gpt-4o"


CLAUDE = ["--model", "claude-sonnet-4-5", "--tools", "Read,Bash,Edit,Write", "--dangerously-skip-permissions",
          "--output-format", "json"]
PI = ["--provider", "scripted", "--model", "gpt-4o"]
QWEN = ["-y", "--auth-type", "openai"]
ALL = [
    Agent("claude-code", "@anthropic-ai/claude-code@2.1.325", ["claude", "-p", *CLAUDE], ["--continue"],
          ["-p", *CLAUDE], model="claude-sonnet-4-5"),
    Agent("codex", "@openai/codex@0.166.0", ["codex", "exec", "--skip-git-repo-check", "--json"], ["resume", "--last"],
          ["--skip-git-repo-check", "--json"], ("codex resume", "codex exec resume"), model="gpt-5.2-codex"),
    Agent("pi", "@mariozechner/pi-coding-agent@0.73.1", ["pi", "-p", *PI], ["-c"], ["-p", *PI]),
    Agent("qwen-code", "@qwen-code/qwen-code@0.24.4", ["qwen", *QWEN, "-p"], [], [*QWEN, "-p"]),
]
# qwen-code takes --continue before its prompt.
QWEN_MORE = ["qwen", *QWEN, "--continue", "-p"]


class Stage:
    """A home of its own, a project in it, and an upstream that every agent is told to call."""

    def __init__(self, agent: Agent, programs: Path, folder: Path):
        self.agent = agent
        self.home, self.project = folder / "home", folder / "a_project.dir"
        self.home.mkdir()
        self.project.mkdir()
        self.upstream = subprocess.Popen(
            [UPSTREAM, "--listen", "127.0.0.1:0", "--record", "--reply-tokens", "300", "--tool-rounds", "2", "--lenient",
             "--until-stdin-closes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.upstream.stdout.readline()).group()
        self.configure(programs)

    def configure(self, programs: Path):
        keys = ("PATH", "LANG", "TMPDIR")
        self.environment = {key: os.environ[key] for key in keys if key in os.environ} | {
            "HOME": str(self.home), "PATH": f"{programs}:{os.environ['PATH']}", "IS_SANDBOX": "1",
            "ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": self.url, "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "gpt-4o", "OPENAI_BASE_URL": f"{self.url}/v1", "PI_OFFLINE": "1",
        }
        codex, pi = self.home / ".codex", self.home / ".pi" / "agent"
        codex.mkdir()
        pi.mkdir(parents=True)
        (codex / "config.toml").write_text(
            'model="gpt-5.2-codex"\nmodel_provider="scripted"\napproval_policy="never"\n'
            'sandbox_mode="danger-full-access"\n[model_providers.scripted]\nname="scripted"\n'
            f'base_url="{self.url}/v1"\nenv_key="OPENAI_API_KEY"\nwire_api="responses"\n')
        model = {"id": "gpt-4o", "name": "gpt-4o", "reasoning": False, "input": ["text"], "contextWindow": 128000,
                 "maxTokens": 4096, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
        provider = {"baseUrl": f"{self.url}/v1", "api": "openai-completions", "apiKey": "dummy", "models": [model]}
        (pi / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))

    def run(self, command, **options):
        done = subprocess.run(command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=240, **options)
        if done.returncode != 0:
            raise Failed(f"{command} failed: {(done.stderr or done.stdout).strip()[-400:]}")
        return done

    def hold_session(self):
        """A few turns with the upstream."""
        for turn in range(TURNS):
            words = f"Remember {MARKER.format(turn)} and go on. {' '.join(map(str, range(150)))}"
            command = self.agent.start if turn == 0 else [*self.agent.start, *self.agent.more]
            if self.agent.name == "qwen-code" and turn > 0:
                command = QWEN_MORE
            self.run([*command, words])

    def compact(self) -> dict:
        """Compacts the session it finds by the table of sessions; the record."""
        table = json.loads(self.run([EPITOME, "sessions", "--tool", self.agent.name, "--json"]).stdout)
        if len(table["sessions"]) != 1 or Path(table["sessions"][0]["project"]) != self.project:
            raise Failed(f"the session is not found: {table}")
        session = table["sessions"][0]
        before = Path(session["path"]).read_bytes()
        options = ["--resume", "--json", "--window", "32000", "--target", "3000"]
        record = json.loads(self.run([EPITOME, "compact", session["id"], *options]).stdout)
        if Path(session["path"]).read_bytes() != before:
            raise Failed("the session itself was changed")
        if record["outcome"] != "compacted":
            raise Failed(f"it was not compacted: {record['outcome']}")
        return record

    def resume(self, command: str):
        """One turn by the command that was printed."""
        command = command.replace(*self.agent.headless) if self.agent.headless[0] else command
        words = [*self.agent.options, f"Go on with {MARKER.format('now')}"]
        self.run(["sh", "-c", f"{command} {shlex.join(words)}"])

    def report(self) -> dict:
        with urllib.request.urlopen(f"{self.url}/scripted/report") as answer:
            return json.load(answer)

    def close(self):
        self.upstream.stdin.close()
        self.upstream.wait(timeout=20)


def texts(message) -> str:
    """All that a message says, as one text."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def check(report: dict) -> str:
    """What the resumed turn sent; fails where it is not what it should be."""
    if report["violations"] or report["refused"]:
        raise Failed(f"the upstream refused something: {report['violations'][:2]}, {report['refused']} refused")
    for request in report["recorded"]:
        body = json.loads(request["body"]) if isinstance(request["body"], str) else request["body"]
        messages = body.get("messages") or body.get("input")
        if not any(MARKER.format("now") in texts(message) for message in messages):
            continue
        said = [message for message in messages if message.get("role") in ("user", "assistant")]
        first = next((at for at, message in enumerate(said) if SUMMARY in texts(message)), None)
        if first is None:
            raise Failed("the request holds no summary of ours")
        # What a compaction keeps in front of its summary, such as the first prompt, is little.
        if first > FRONT_MAX:
            told = [(message["role"], texts(message)[:100]) for message in said[: first + 1]]
            raise Failed(f"too much stands before the summary: {told}")
        if request["status"] != 200:
            raise Failed(f"the upstream answered {request['status']}")
        before = f", {first} kept in front" if first else ""
        return f"{len(messages)} messages, the summary first{before}; answered {request['status']}"
    raise Failed("no request of the resumed turn was seen")


def try_agent(agent: Agent) -> str:
    programs = install(agent.name, agent.package)
    with tempfile.TemporaryDirectory(prefix="epitome-agents-") as folder:
        stage = Stage(agent, programs, Path(folder).resolve())
        try:
            stage.hold_session()
            record = stage.compact()
            written = record["written"]
            stage.resume(written["command"])
            seen = check(stage.report())
            return f"{record['tokens_before']} → {record['tokens_after']} tokens; {seen}"
        finally:
            stage.close()


def main() -> int:
    for program in (EPITOME, UPSTREAM):
        if not program.exists():
            print(f"there is no {program}; run: cargo build -p epitome -p epitome-upstream", file=sys.stderr)
            return 1
    if not shutil.which("npm"):
        print("there is no npm to install agents with; nothing was tried")
        return 0
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    failed = 0
    for agent in ALL:
        if wanted and agent.name not in wanted:
            continue
        version = agent.package.rsplit("@", 1)[1]
        try:
            told = try_agent(agent)
            print(f"| {agent.name} {version} | {told} |" if "--table" in sys.argv else f"{agent.name} {version}: {told}")
        except (Failed, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{agent.name} {version}: FAILED: {error}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
