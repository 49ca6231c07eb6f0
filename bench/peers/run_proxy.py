#!/usr/bin/env python3
"""Added latency and throughput of LLM gateways against a mock upstream, all on 127.0.0.1.

  BENCH_LOADKIT=<folder with the binaries mock-upstream and load> \\
  [BENCH_NGINX=nginx] [BENCH_LITELLM=<venv>/bin/litellm] [BENCH_HEADROOM=<venv>/bin/headroom] \\
  [BENCH_PORTKEY=<.../gateway/build/start-server.js>] [BENCH_CCR=<.../claude-code-router/dist/cli.js>] \\
  [BENCH_ULTRAFAST=<.../bin/ultrafast-gateway>] [BENCH_NODE=node] [BENCH_PRODUCT='our-proxy --listen 127.0.0.1:{port} --upstream http://127.0.0.1:{up}'] \\
  python3 run_proxy.py --work DIR [--rounds 3] [--only nginx,litellm] [--out results.jsonl]

Only gateways whose variable is set are run. Every gateway case is measured right between two
direct cases (same body, same connections), so a ratio never mixes two moments. Per case it
reports latency to first byte and to the end, requests/s, errors, the CPU time the gateway's
processes spent per request (steadier than wall time on a shared machine) and its memory.
Every load is bounded in requests and seconds. Each gateway runs alone, with one worker.
"""
import argparse
import json
import os
import shlex
import signal
import statistics as st
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
E = os.environ.get
UP = int(E("BENCH_PORT", "9900"))
PORT = UP + 10

# name, api, body, connections, max requests, max seconds
CASES = [
    ("openai 1KB json c1", "openai", "o1k", 1, 1000, 4),
    ("openai 1KB json c16", "openai", "o1k", 16, 4000, 4),
    ("openai 1KB stream c1", "openai", "o1ks", 1, 200, 4),
    ("openai 1KB stream c8", "openai", "o1ks", 8, 400, 4),
    ("openai 100KB json c1", "openai", "o100k", 1, 300, 4),
    ("openai 100KB stream c1", "openai", "o100ks", 1, 100, 4),
    ("openai 1MB json c1", "openai", "o1m", 1, 60, 5),
    ("openai 1MB json c4", "openai", "o1m", 4, 120, 5),
    ("openai 1MB stream c1", "openai", "o1ms", 1, 40, 5),
    ("openai 4MB json c1", "openai", "o4m", 1, 30, 6),
    ("openai 4MB stream c1", "openai", "o4ms", 1, 20, 6),
    ("anthropic 1KB json c1", "anthropic", "a1k", 1, 1000, 4),
    ("anthropic 1KB stream c1", "anthropic", "a1ks", 1, 200, 4),
    ("anthropic 100KB json c1", "anthropic", "a100k", 1, 300, 4),
    ("anthropic 1MB json c1", "anthropic", "a1m", 1, 60, 5),
    ("anthropic 1MB json c4", "anthropic", "a1m", 4, 120, 5),
    ("anthropic 1MB stream c1", "anthropic", "a1ms", 1, 40, 5),
    ("anthropic 4MB json c1", "anthropic", "a4m", 1, 30, 6),
    ("anthropic 4MB stream c1", "anthropic", "a4ms", 1, 20, 6),
]
SIZES = {"1k": 1024, "100k": 100 << 10, "1m": 1 << 20, "4m": 4 << 20}


def gateways(work):
    node, g = E("BENCH_NODE", "node"), {}
    up = f"http://127.0.0.1:{UP}"
    quiet = {"HOME": work, "DO_NOT_TRACK": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False",
             "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
             "HEADROOM_TELEMETRY": "off", "TRUSTED_CUSTOM_HOSTS": "localhost,127.0.0.1"}
    oa = ("/v1/chat/completions", ["authorization: Bearer x"], "mock")
    an = ("/v1/messages", ["x-api-key: x", "anthropic-version: 2023-06-01"], "mock")
    if E("BENCH_NGINX"):
        conf = os.path.join(work, "nginx.conf")
        open(conf, "w").write(f"""daemon off; worker_processes 1; pid {work}/nginx.pid; error_log {work}/nginx.err;
events {{ worker_connections 256; }}
http {{ access_log off; client_max_body_size 64m; client_body_buffer_size 8m; client_body_temp_path {work}/ngt; proxy_temp_path {work}/ngp;
 fastcgi_temp_path {work}/ngf; uwsgi_temp_path {work}/ngu; scgi_temp_path {work}/ngs;
 upstream up {{ server 127.0.0.1:{UP}; keepalive 64; }}
 server {{ listen 127.0.0.1:{PORT}; location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }} }} }}
""")
        g["nginx"] = dict(cmd=[E("BENCH_NGINX"), "-c", conf, "-p", work], openai=oa, anthropic=an)
    if E("BENCH_LITELLM"):
        conf = os.path.join(work, "litellm.yaml")
        open(conf, "w").write(f"""model_list:
  - model_name: mock
    litellm_params: {{model: openai/mock, api_base: "{up}/v1", api_key: x}}
  - model_name: mocka
    litellm_params: {{model: anthropic/mock, api_base: "{up}", api_key: x}}
litellm_settings: {{telemetry: false}}
""")
        g["litellm"] = dict(cmd=[E("BENCH_LITELLM"), "--config", conf, "--host", "127.0.0.1", "--port", str(PORT), "--num_workers", "1"],
                            health="/health/liveliness", openai=oa, anthropic=(an[0], an[1], "mocka"))
    if E("BENCH_PORTKEY"):
        def h(p):
            return [f"x-portkey-provider: {p}", f"x-portkey-custom-host: {up}/v1", "authorization: Bearer x"]
        g["portkey"] = dict(cmd=[node, E("BENCH_PORTKEY"), "--headless", f"--port={PORT}"], openai=(oa[0], h("openai"), "mock"),
                            anthropic=(an[0], h("anthropic"), "mock"))
    if E("BENCH_CCR"):
        d = os.path.join(work, "ccr", ".claude-code-router")
        os.makedirs(d, exist_ok=True)
        json.dump({"PORT": PORT, "HOST": "127.0.0.1", "LOG": False, "APIKEY": "", "NON_INTERACTIVE_MODE": True,
                   "Providers": [{"name": "mock", "api_base_url": f"{up}/v1/chat/completions", "api_key": "x", "models": ["mock"]}],
                   "Router": {"default": "mock,mock"}}, open(os.path.join(d, "config.json"), "w"))
        g["claude-code-router"] = dict(cmd=[node, E("BENCH_CCR"), "start"], env={"HOME": os.path.join(work, "ccr")}, anthropic=an)
    if E("BENCH_HEADROOM"):
        base = [E("BENCH_HEADROOM"), "proxy", "--host", "127.0.0.1", "--port", str(PORT), "--anthropic-api-url", up, "--openai-api-url", up,
                "--no-rate-limit", "--no-cache", "--disable-kompress"]
        g["headroom"] = dict(cmd=base, health="/health", openai=oa, anthropic=an)
        g["headroom-token"] = dict(cmd=base + ["--mode", "token"], health="/health", openai=oa, anthropic=an)
        g["headroom-passthrough"] = dict(cmd=base + ["--no-optimize"], health="/health", openai=oa, anthropic=an)
    if E("BENCH_ULTRAFAST"):
        conf = os.path.join(work, "ultrafast.toml")
        open(conf, "w").write(f"""plugins = []
[server]
host = "127.0.0.1"
port = {PORT}
timeout = "60s"
max_body_size = 67108864
[server.cors]
enabled = false
allowed_origins = ["*"]
allowed_methods = ["GET","POST"]
allowed_headers = ["*"]
[providers.openai]
name = "openai"
api_key = "sk-{'x' * 40}"
base_url = "{up}/v1"
timeout = "60s"
max_retries = 1
retry_delay = "1s"
enabled = true
[providers.openai.model_mapping]
[providers.openai.headers]
[routing]
strategy = "Single"
health_check_interval = "3600s"
failover_threshold = 0.8
[auth]
enabled = false
api_keys = []
[auth.rate_limiting]
requests_per_minute = 100000000
requests_per_hour = 1000000000
tokens_per_minute = 1000000000
[cache]
enabled = false
backend = "Memory"
ttl = "300s"
max_size = 1000
[logging]
level = "error"
format = "Compact"
output = "Stdout"
[metrics]
enabled = false
max_requests = 10
retention_duration = "3600s"
cleanup_interval = "3600s"
""")
        g["ultrafast-gateway"] = dict(cmd=[E("BENCH_ULTRAFAST"), "-c", conf, "--host", "127.0.0.1", "-p", str(PORT), "--log-level", "error"], openai=oa)
    if E("BENCH_PRODUCT"):
        g["product"] = dict(cmd=shlex.split(E("BENCH_PRODUCT").format(port=PORT, up=UP)), health=E("BENCH_PRODUCT_HEALTH", "/"), openai=oa, anthropic=an)
    for v in g.values():
        v["env"] = {**os.environ, **quiet, **v.get("env", {})}
    return g


def tree(pid):
    kids, todo = [pid], [pid]
    while todo:
        p = todo.pop()
        try:
            for t in os.listdir(f"/proc/{p}/task"):
                for c in open(f"/proc/{p}/task/{t}/children").read().split():
                    kids.append(int(c))
                    todo.append(int(c))
        except OSError:
            pass
    return kids


def usage(pid):
    cpu = rss = 0
    hz = os.sysconf("SC_CLK_TCK")
    for p in tree(pid):
        try:
            f = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()
            cpu += int(f[11]) + int(f[12])
            rss += int(f[21]) * 4096
        except OSError:
            pass
    return cpu / hz, rss


def stop(p):
    for pid in reversed(tree(p.pid)):  # only processes this script started
        try:
            os.kill(pid, signal.SIGTERM)
        except OSError:
            pass
    try:
        p.wait(10)
    except subprocess.TimeoutExpired:
        for pid in reversed(tree(p.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        p.wait()


def alive(port, path):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2).read()
        return True
    except urllib.error.HTTPError:
        return True
    except Exception:
        return False


def spin():
    """A fixed piece of CPU work: how fast the machine is at this moment (ms)."""
    t, x = time.perf_counter(), 0
    for i in range(1_000_000):
        x = (x * 31 + i) & 0xFFFFFFFF
    return (time.perf_counter() - t) * 1000


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--work", required=True)
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--only", default="")
    a.add_argument("--cases", default="", help="comma-separated substrings of case names")
    a.add_argument("--out", default="")
    a.add_argument("--seconds", type=float, default=0, help="cap of seconds per case")
    a = a.parse_args()
    work = os.path.abspath(a.work)
    os.makedirs(work, exist_ok=True)
    kit = E("BENCH_LOADKIT") or sys.exit("BENCH_LOADKIT is not set")
    for api, c in (("openai", "o"), ("anthropic", "a")):
        for size, n in SIZES.items():
            for s in ("", "s"):
                for model in ("mock",) if api == "openai" else ("mock", "mocka"):
                    p = os.path.join(work, f"{c}{size}{s}.{model}.json")
                    if not os.path.exists(p):
                        subprocess.run([sys.executable, os.path.join(HERE, "gen_sessions.py"), "--format", api, "--bytes", str(n), "--model", model,
                                        "--out", p] + (["--stream"] if s else []), check=True, stderr=subprocess.DEVNULL)
    out = open(a.out, "a") if a.out else None

    def floor():
        """What parsing the body of 1 MB into a tree of values takes at this moment (ms)."""
        r = subprocess.run([os.path.join(kit, "floor"), os.path.join(work, "o1m.mock.json"), "9"], capture_output=True, text=True, timeout=60)
        return json.loads(r.stdout)["ms"]["parse_value"]

    mock = subprocess.Popen([os.path.join(kit, "mock-upstream"), str(UP), "100", "0"])
    rows = []

    def load(url, body, conns, n, secs, headers):
        r = subprocess.run([os.path.join(kit, "load"), url, body, str(conns), str(n), str(secs)] + headers, capture_output=True, text=True, timeout=secs + 60)
        return json.loads(r.stdout)

    try:
        time.sleep(0.3)
        gs = gateways(work)
        if a.only:
            gs = {k: v for k, v in gs.items() if k in a.only.split(",")}
        for rnd in range(a.rounds):
            for name, g in gs.items():
                log = open(os.path.join(work, f"{name}.log"), "w")
                t0 = time.time()
                p = subprocess.Popen(g["cmd"], env=g["env"], cwd=work, stdout=log, stderr=log)
                try:
                    while not alive(PORT, g.get("health", "/")):
                        if p.poll() is not None or time.time() - t0 > 120:
                            break
                        time.sleep(0.05)
                    boot = time.time() - t0
                    rss0 = usage(p.pid)[1]
                    for case, api, body, conns, n, secs in CASES:
                        if api not in g or (a.cases and not any(c in case for c in a.cases.split(","))):
                            continue
                        secs = min(secs, a.seconds) if a.seconds else secs
                        path, headers, model = g[api]
                        bd, bg = (os.path.join(work, f"{body}.{m}.json") for m in ("mock", model))
                        gu = f"http://127.0.0.1:{PORT}{path}"
                        load(gu, bg, conns, max(2 * conns, 5), 4, headers)  # warm
                        d1 = load(f"http://127.0.0.1:{UP}{path}", bd, conns, n, 1, [])
                        s1, parse = spin(), floor()
                        c0, _ = usage(p.pid)
                        r = load(gu, bg, conns, n, secs, headers)
                        c1, rss = usage(p.pid)
                        d2 = load(f"http://127.0.0.1:{UP}{path}", bd, conns, n, 1, [])
                        row = dict(round=rnd, gateway=name, case=case, boot_s=round(boot, 2), idle_rss_mb=rss0 >> 20, rss_mb=rss >> 20, spin_ms=round(s1, 1), parse_1mb_ms=parse,
                                   cpu_ms_per_req=round((c1 - c0) * 1000 / max(1, r["requests"]), 3),
                                   direct_p50_us=round(st.mean((d1["full_us"]["p50"], d2["full_us"]["p50"]))), direct_p99_us=round(st.mean((d1["full_us"]["p99"], d2["full_us"]["p99"]))),
                                   direct_first_us=round(st.mean((d1["first_us"]["p50"], d2["first_us"]["p50"]))),
                                   direct_rps=round(st.mean((d1["rps"], d2["rps"])), 1), **r)
                        rows.append(row)
                        if out:
                            out.write(json.dumps(row) + "\n")
                            out.flush()
                        print(f"{rnd} {name:22} {case:27} p50 {r['full_us']['p50']:>8} us  p99 {r['full_us']['p99']:>8}  rps {r['rps']:>8}  "
                              f"cpu/req {row['cpu_ms_per_req']:>8} ms  rss {row['rss_mb']} MB  err {r['errors']} (direct p50 {row['direct_p50_us']} rps {row['direct_rps']}) {r['last_error'][:80]}", flush=True)
                finally:
                    stop(p)
    finally:
        stop(mock)
    print(summary(rows))


def summary(rows):
    """Markdown: the least over rounds for what is added, since others load the machine, else the median; added = gateway - direct of the same moment."""
    res = ["| gateway | case | added p50 ms, least (range) | added p99 ms | added first byte p50 ms | x direct p50 | requests/s (range) | of direct | CPU ms/request | memory MB | errors |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    keys = []
    for r in rows:
        if (r["gateway"], r["case"]) not in keys:
            keys.append((r["gateway"], r["case"]))
    for k in sorted(keys, key=lambda k: [c[0] for c in CASES].index(k[1])):
        rs = [r for r in rows if (r["gateway"], r["case"]) == k and r["requests"]]
        if not rs:
            res.append(f"| {k[0]} | {k[1]} | failed | | | | | | | | all |")
            continue
        add = [(r["full_us"]["p50"] - r["direct_p50_us"]) / 1000 for r in rs]
        a99 = [(r["full_us"]["p99"] - r["direct_p99_us"]) / 1000 for r in rs]
        fb = [(r["first_us"]["p50"] - r["direct_first_us"]) / 1000 for r in rs]
        x = [r["full_us"]["p50"] / r["direct_p50_us"] for r in rs]
        rps = [r["rps"] for r in rs]
        fr = [r["rps"] / r["direct_rps"] for r in rs]
        m = st.median
        res.append(f"| {k[0]} | {k[1]} | {min(add):.2f} ({min(add):.2f}-{max(add):.2f}) | {m(a99):.1f} | {m(fb):.2f} | {m(x):.0f} | {m(rps):.1f} ({min(rps):.1f}-{max(rps):.1f}) | {m(fr) * 100:.2f}% | "
                   f"{m([r['cpu_ms_per_req'] for r in rs]):.2f} | {max(r['rss_mb'] for r in rs)} | {sum(r['errors'] for r in rs)} |")
    sp = [r["spin_ms"] for r in rows]
    if sp:
        res.append(f"\nFixed CPU work during the run: median {st.median(sp):.0f} ms, range {min(sp):.0f}-{max(sp):.0f} ms.")
    parse = [r["parse_1mb_ms"] for r in rows if "parse_1mb_ms" in r]
    if parse:
        res.append(f"One parse of the body of 1 MB into values: least {min(parse):.2f} ms, median {st.median(parse):.2f} ms.")
    return "\n".join(res)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--summary":
        print(summary([json.loads(line) for line in open(sys.argv[2])]))
    else:
        main()
