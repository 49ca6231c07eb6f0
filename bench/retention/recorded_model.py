"""A stand-in for a model: asked for the prose of a summary, it gives what the recorded summary says under those heads.

It listens on a loopback port and speaks Chat Completions, streamed, which is what the program asks of a compatible service.
"""

import json
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from exam import section_of
from words import tokens

# The sections that the program asks for, and where a recorded summary has them.
PROSE = {
    "request": "Intent",
    "errors": "Errors and fixes",
    "problem solving": "Problem solving",
    "pending": "Pending work",
    "current work": "Current work",
    "next step": "Next step",
}
ALIAS = "recorded"


def prose_of(text, limit):
    """The prose of a recorded summary within so many tokens: its sections, the longest shortened from its end."""
    parts = {head: [] for head in PROSE.values()}
    section = None
    for line in text.split("\n"):
        opened = section_of(line)
        section = opened or section
        if not opened and section in PROSE and line.strip():
            parts[PROSE[section]].append(line.rstrip())
    parts = {head: lines for head, lines in parts.items() if lines}
    while parts and tokens(_page(parts)) > limit:
        longest = max(parts, key=lambda head: sum(map(len, parts[head])))
        parts[longest].pop()
        parts = {head: lines for head, lines in parts.items() if lines}
    return _page(parts)


def _page(parts):
    return "\n\n".join("\n".join([f"## {head}", *lines]) for head, lines in parts.items())


class RecordedModel:
    """A model that knows one summary. Used as a context: inside it `settings` lead the program to it."""

    def __init__(self, summary):
        self.summary, self.answers = summary, []

    def __enter__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.folder = tempfile.TemporaryDirectory()
        config = Path(self.folder.name) / "epitome.toml"
        address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        lines = [f"[alias.{ALIAS}]", 'provider = "compatible"', 'protocol = "openai-chat"']
        lines += [f'base_url = "{address}"', 'model = "recorded"', "window = 1000000", "output_max = 32000"]
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.settings = ["--config", str(config), "--summarizer", ALIAS]
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def answer(self, asked):
        limit = asked.get("max_completion_tokens") or asked.get("max_tokens") or 1_500
        self.answers.append(prose_of(self.summary, limit))
        return self.answers[-1]


def _handler(model):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = model.answer(asked)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            usage = {"prompt_tokens": tokens(json.dumps(asked["messages"])), "completion_tokens": tokens(text)}
            usage["total_tokens"] = sum(usage.values())
            for choices, more in (
                ([{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}], {}),
                ([{"index": 0, "delta": {}, "finish_reason": "stop"}], {}),
                ([], {"usage": usage}),
            ):
                event = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "recorded"}
                self.wfile.write(f"data: {json.dumps({**event, 'choices': choices, **more})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_):
            pass

    return Handler
