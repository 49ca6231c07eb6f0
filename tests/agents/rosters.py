"""The agents that are driven through the proxy: how each is pointed at it, and started for a turn.

Versions are those of docs/reference/real-agents.md.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

CLAUDE_CODE = ("claude-code", "@anthropic-ai/claude-code@2.1.325")
PI = ("pi", "@mariozechner/pi-coding-agent@0.73.1")
OPENCODE = ("opencode", "opencode-ai@1.18.33")
CLAUDE = ["--tools", "Read,Bash,Edit,Write", "--dangerously-skip-permissions", "--output-format", "json"]
QWEN = ["qwen", "-y", "--auth-type", "openai"]
AIDER = ["aider", "--model", "openai/gpt-4o", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--analytics-disable",
         "--no-auto-commits", "--no-gitignore", "--no-fancy-input", "--no-pretty", "--max-chat-history-tokens", "200000",
         "--map-tokens", "0", "src/session.rs"]


@dataclass
class Agent:
    """One agent."""

    name: str
    # What it is installed as, and from.
    package: tuple[str, str]
    # The command of the first turn and of the others, before the words.
    first: list[str]
    more: list[str]
    # Whether it takes all turns as lines of its standard input.
    lines: bool = False
    # Words of its output that say that something failed.
    failures: tuple[str, ...] = ()
    # Whether it sends what real providers take and the scripted upstream's own rules do not, such as two user's messages in a row.
    lenient: bool = False

    def command(self, turn: int, words: str) -> list[str]:
        return [*(self.more if turn else self.first), *([words] if words else [])]

    def is_error(self, output: str) -> bool:
        return any(failure in output for failure in self.failures)

    def environment(self, home: Path, url: str, programs: Path) -> dict:
        configure(home, url)
        return {key: os.environ[key] for key in ("LANG", "TMPDIR") if key in os.environ} | {
            "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "IS_SANDBOX": "1", "DUMMY_KEY": "dummy",
            "ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": url, "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "OPENAI_API_KEY": "dummy",
            "OPENAI_MODEL": "gpt-4o", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_BASE": f"{url}/v1", "PI_OFFLINE": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o", "OPENAI_HOST": url, "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1", "GOOSE_TELEMETRY_ENABLED": "false",
        }


def configure(home: Path, url: str):
    """The files by which agents without a variable for it find the proxy."""
    codex, pi, opencode = home / ".codex", home / ".pi" / "agent", home / ".config" / "opencode"
    for folder in (codex, pi, opencode):
        folder.mkdir(parents=True, exist_ok=True)
    (codex / "config.toml").write_text(
        'model="gpt-5.2-codex"\nmodel_provider="ep"\napproval_policy="never"\nsandbox_mode="danger-full-access"\n'
        f'[model_providers.ep]\nname="ep"\nbase_url="{url}/v1"\nenv_key="DUMMY_KEY"\nwire_api="responses"\n')
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    model = {"input": ["text"], "contextWindow": 200000, "maxTokens": 4096, "cost": cost}
    (pi / "models.json").write_text(json.dumps({"providers": {
        "epc": {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "dummy",
                "models": [{"id": "gpt-4o", "name": "gpt-4o", "reasoning": False, **model}]},
        "epa": {"baseUrl": url, "api": "anthropic-messages", "apiKey": "dummy",
                "models": [{"id": "claude-sonnet-4-5", "name": "sonnet", "reasoning": True, **model}]}}}))
    limit = {"tool_call": True, "limit": {"context": 200000, "output": 8000}}
    (opencode / "opencode.json").write_text(json.dumps({"provider": {
        "epc": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}, "models": {"gpt-4o": limit}},
        "epa": {"npm": "@ai-sdk/anthropic", "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}, "models": {"claude-sonnet-4-5": limit}}}}))


def claude(name: str, model: str) -> Agent:
    command = ["claude", "-p", "--model", model, *CLAUDE]
    return Agent(name, CLAUDE_CODE, command, [*command, "--continue"], failures=('"is_error":true',))


def pi(name: str, options: list[str]) -> Agent:
    return Agent(name, PI, ["pi", "-p", *options], ["pi", "-p", "-c", *options])


def opencode(name: str, model: str) -> Agent:
    command = ["opencode", "run", "-m", model, "--format", "json"]
    return Agent(name, OPENCODE, command, [*command, "-c"], failures=('"type":"error"',), lenient=True)


GOOSE = ["goose-binary-linux-x64", "run", "-n", "t1", "--with-builtin", "developer"]
CODEX = ["codex", "exec", "--skip-git-repo-check", "--json"]
ALL = [
    claude("claude-sonnet", "claude-sonnet-4-5"),
    claude("claude-opus", "claude-opus-5-5"),
    Agent("codex", ("codex", "@openai/codex@0.166.0"), CODEX, [*CODEX, "resume", "--last"], failures=('"type":"turn.failed"',)),
    opencode("opencode-chat", "epc/gpt-4o"),
    opencode("opencode-anthropic", "epa/claude-sonnet-4-5"),
    pi("pi-chat", ["--provider", "epc", "--model", "gpt-4o"]),
    pi("pi-anthropic", ["--provider", "epa", "--model", "claude-sonnet-4-5", "--thinking", "medium"]),
    Agent("aider", ("aider", "aider-chat==0.86.2"), AIDER, AIDER, lines=True, failures=("litellm.", "BadRequestError"), lenient=True),
    Agent("goose", ("goose", "@aaif/goose-binary-linux-x64@1.52.0"), [*GOOSE, "-t"], [*GOOSE, "--resume", "-t"]),
    Agent("qwen-code", ("qwen-code", "@qwen-code/qwen-code@0.24.4"), [*QWEN, "-p"], [*QWEN, "--continue", "-p"]),
]
