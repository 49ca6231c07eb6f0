"""Compacts real sessions with a small real model behind `compact` and `serve`, and holds what comes of it to what must hold
whoever writes: compacted, within budget, and either the model's prose under its heading or a record that says why not."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent.parent / "corpus"
EPITOME = str(Path(os.environ["EPITOME"]).resolve())
# Short enough for a model that reads 8,192 tokens, and of three tools.
SESSIONS = (
    "langgraph/deer-flow-d3e5ad-research.json.zst",
    "mini-swe-agent/django-13265.traj.json.zst",
    "pi/pi-dev-962b10-v3.jsonl.zst",
)
CONTEXT_TOKENS = 8_192
# A small model on a busy machine writes a few tokens a second.
SECONDS_MAX = 900
PROSE, COPIED = "# In the model's words\n", "\n\n# From the log, word for word\n"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(address):
    for _ in range(600):
        try:
            return urllib.request.urlopen(address, timeout=5).read()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"nothing answers at {address}")


def llama(model, port):
    command = [sys.executable, str(HERE / "serve.py"), model, str(CONTEXT_TOKENS), str(port)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(f"http://127.0.0.1:{port}/health")
    return server


def settings(folder, port):
    lines = ["[alias.tiny]", 'provider = "llama-cpp"', f'base_url = "http://127.0.0.1:{port}/v1"']
    lines += ['model = "smollm2"', f"window = {CONTEXT_TOKENS}", "output_max = 400", "[summary]", 'by = "tiny"']
    # It reads slowly: little of each result, and one more try at most.
    lines += ["result_chars_max = 120", "shrink_results = []"]
    file = Path(folder) / "epitome.toml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def judge(name, record, seconds):
    """What must hold of a record, whoever wrote; prints what came of it."""
    spent, by = record["spent"], record.get("summarizer")
    told = [f"{f['strategy']}: {f['why']}" for f in record["fallbacks"]] + record["notes"]
    print(f"{name}: {by}, {spent['calls']} calls, {spent['input']} tokens in, {spent['output']} out, {seconds:.0f} s")
    print("".join(f"    {line}\n" for line in told), end="", flush=True)
    assert record["outcome"] == "compacted", record["outcome"]
    assert record["tokens_after"] < record["tokens_before"]
    summary = record["summary"]
    if by == "tiny":
        prose = summary.split(PROSE)[1].split(COPIED)[0]
        print("".join(f"    | {line}\n" for line in prose.splitlines()), end="")
        assert prose.strip() and "Sure!" not in prose
    else:
        assert spent["calls"] > 0 and record["fallbacks"], "the record does not say why the model did not write"
        assert PROSE not in summary
    return by == "tiny"


def compact(config, session, out):
    command = [EPITOME, "compact", str(CORPUS / session), "--config", str(config), "--window", "24000"]
    begun = time.monotonic()
    done = subprocess.run([*command, "--json", "-o", str(out)], capture_output=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout), time.monotonic() - begun


def serve(config, port):
    """A conversation through the proxy that is compacted on the way; the record, and how long it took."""
    own = free_port()
    upstream = f"http://127.0.0.1:{port}"
    command = [EPITOME, "serve", "--listen", f"127.0.0.1:{own}", "--config", str(config), "--window", "6000", "--store", "memory"]
    proxy = subprocess.Popen([*command, "--upstream", upstream], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{own}/healthz")
        messages = []
        for turn in range(24):
            said = f"Point {turn} of the release: src/release_{turn}.rs must be checked. " + "It matters to us. " * 40
            messages += [{"role": "user", "content": said}, {"role": "assistant", "content": f"Checked release_{turn}."}]
        messages.append({"role": "user", "content": "Say hello."})
        body = json.dumps({"model": "smollm2", "max_tokens": 16, "messages": messages}).encode()
        address, headers = f"http://127.0.0.1:{own}/openai/v1/chat/completions", {"content-type": "application/json"}
        begun = time.monotonic()
        request = urllib.request.Request(address, body, headers)
        answer = json.load(urllib.request.urlopen(request, timeout=SECONDS_MAX))
        assert answer["choices"], answer
        seconds = time.monotonic() - begun
        sessions = json.load(urllib.request.urlopen(f"http://127.0.0.1:{own}/api/v1/sessions"))
        return sessions[0]["compactions"][0], seconds
    finally:
        proxy.terminate()
        proxy.wait()


def main():
    model, port = sys.argv[1], free_port()
    server, written = llama(model, port), 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = settings(folder, port)
            for session in SESSIONS:
                record, seconds = compact(config, session, Path(folder) / "out")
                written += judge(f"compact {session}", record, seconds)
            record, seconds = serve(config, port)
            written += judge("serve", record, seconds)
    finally:
        server.stdin.close()
        server.wait()
    print(f"{len(SESSIONS) + 1} passed, 0 failed; the model's prose was taken {written} times, else the machine wrote")


if __name__ == "__main__":
    main()
