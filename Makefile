# The two commands: `make run` shows epitome working, `make test` proves it.

CARGO ?= cargo
export CARGO_TERM_PROGRESS_WHEN ?= never

.PHONY: run test lint lean packages fmt bench retention postgres test-ha test-crash test-doors test-sdk test-proxy test-forks test-faults test-day test-agents test-turns test-real-model replay-matrix cases deny mutants fuzz clean

run:
	$(CARGO) build --release -p epitome
	./target/release/epitome demo
	./target/release/epitome serve

test: lint postgres
	$(CARGO) test --workspace
	python3 -m unittest discover -q -s bench/retention/tests -t bench/retention
	python3 -m unittest discover -q -s bench/readers/tests -t bench/readers
	./tests/cases.py --check
	./tests/deny.sh
	./tests/pi/run.sh
	$(CARGO) build -p epitome -p epitome-upstream
	./tests/sdk/run.sh
	./tests/proxy/ways.mjs
	./tests/proxy/corpus.py --calls 8
	./tests/proxy/forks.py --requests 1500

# The store's tests start a PostgreSQL of their own; it is installed where it is missing and that can be done.
postgres:
	./tests/postgres.sh

# A PostgreSQL pair under Patroni whose primary is killed while replicas write; Debian as root, for their packages.
test-ha:
	$(CARGO) test -p epitome-store --test ha --no-run
	./tests/ha/run.sh

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(MAKE) lean packages

# The libraries without tokenizers, YAML and tokio; whether they still compile.
lean:
	$(CARGO) check -p epitome-core -p epitome-tokens -p epitome-wire -p epitome-engine -p epitome-session --no-default-features

# Whether every crate can be packaged, with all it includes inside it; `cargo package --workspace` compiles each as well.
packages:
	$(CARGO) package --workspace --no-verify --allow-dirty --offline --quiet

fmt:
	$(CARGO) fmt

# Tables of bench/: speed beside peers (those that are installed, see bench/README.md).
bench:
	$(CARGO) build --release -p epitome -p epitome-bench
	./bench/run.sh

# What a compaction keeps of real sessions, beside simple methods; `make retention ARGS="--quick"` takes a sample.
retention:
	$(CARGO) build --release -p epitome
	python3 bench/retention $(ARGS)

# Every transcript of the corpus through the real proxy in each protocol, call by call; eight calls of each are part of `test`.
test-proxy:
	$(CARGO) build -p epitome -p epitome-upstream
	./tests/proxy/corpus.py --calls 100

# Histories of two tenants, edited, cut, forked and sent at once, through the real proxy; 1,500 requests of it are part of `test`.
test-forks:
	$(CARGO) build --release -p epitome
	./tests/proxy/forks.py --requests 50000 --binary target/release
	./tests/proxy/forks.py --requests 50000 --seed 2 --binary target/release --store forks.db

# A day of many agents in fast motion, a third of a million requests: what the proxy holds of them stops growing. Not part of `test`: all
# that it holds at most must be full before anything can be said.
test-day:
	$(CARGO) build --release -p epitome
	./tests/proxy/day.py --conversations 20000 --binary target/release

# 10,000 streams that are given up, through the proxy; 300 of them are part of `test`.
test-faults:
	EPITOME_FAULT_STREAMS=10000 $(CARGO) test -p epitome-server --test walk -- faults --nocapture

# Every setting behind every door, changed and seen to change something, or refused; docs/reference/keys-and-doors.md.
test-doors:
	$(CARGO) test -p epitome --test keys_and_doors -- --include-ignored

# Agents of the official SDKs, 300 turns under the default and under each system's preset; `make test` takes the default.
test-sdk:
	$(CARGO) build -p epitome -p epitome-upstream
	./tests/sdk/run.sh default aura pi claude-code kaged operator-use

# Agents from npm go on with what `compact --resume` wrote; docs/guides/resume.md has the table.
test-agents:
	$(CARGO) build -p epitome -p epitome-upstream
	./tests/agents/resume.py

# Agents from npm and PyPI, 20 turns each through the proxy; docs/reference/real-agents.md has the table.
test-turns:
	$(CARGO) build -p epitome -p epitome-upstream
	./tests/agents/proxied.py

# A small real model on a real llama.cpp server; says so where they are not installed (tests/real-model/run.sh --install).
test-real-model:
	$(CARGO) build -p epitome
	./tests/real-model/run.sh

# Every transcript of the corpus under every preset and three windows; `make test` takes a sample of them.
replay-matrix:
	EPITOME_MATRIX=all $(CARGO) test --release -p epitome-testbed --test replay_matrix -- --nocapture

# The pages of cases and lessons, from the tests that bear their numbers.
cases:
	./tests/cases.py

deny:
	./tests/deny.sh

# A seeded sample of mutants of each module, built and tested one by one; needs cargo-mutants. docs/reference/mutants.md.
# `make mutants ARGS="--group core --sample 10 --seed 7 --shard 0/4"`.
mutants:
	./tests/mutants.py $(ARGS)

# Each reader, a minute each; needs cargo-fuzz.
fuzz:
	./fuzz/run.sh

clean:
	$(CARGO) clean

# A writer killed at random moments, 500 times for each store; `make test` does so a dozen times.
test-crash:
	EPITOME_CRASHES=500 $(CARGO) test -p epitome-store --test crash
