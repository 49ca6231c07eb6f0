"""Agents written with the official SDKs, through `epitome serve`, against a small window."""

import json
import sys
import tempfile
import time

from agents import AnthropicAgent, ChainedAgent, OpenaiAgent, ResponsesAgent
from checks import Seen, check_report
from processes import upstream_and_proxy

WINDOW = 32_000
# Other systems keep more of the newest messages, and reserve more for the answer.
PRESET_WINDOW = 64_000
# Presets of systems that summarise all there is.
COVERING = ("claude-code",)
TURNS = 300
# The upstream keeps the last 500 requests; a turn takes two.
TURNS_PER_LOOK = 200


# Words that one conversation says and the others do not.
MARKS = ("ALPHA-7391", "BRAVO-2846", "CHARLIE-5120")


class Watch:
    """Brings together what the client sent and what the upstream got."""

    def __init__(self, upstream):
        self.upstream, self.sent, self.looked, self.recorded = upstream, [], 0, []

    def look(self):
        """The pairs since the last look. A request that was refused was sent again, and that one counts."""
        report = self.upstream.get("/scripted/report")
        check_report(report)
        new = [one for one in report.get("recorded", []) if one["request"] > self.looked]
        self.looked = report["requests"]
        self.recorded += new
        got = [one["body"] for one in new if one["status"] == 200 and one["kind"] == "chat"]
        sent, self.sent[:] = list(self.sent), []
        assert len(sent) == len(got), f"{len(sent)} requests were sent, {len(got)} were answered"
        return zip(sent, got)

    @property
    def summaries(self):
        """The summaries that the upstream was asked for."""
        return [one for one in self.recorded if one["kind"] == "summary"]


def long_session(kind, name, preset="default"):
    """Hundreds of turns with tools: none of them too long, each an extension of the one before."""
    window = WINDOW if preset == "default" else PRESET_WINDOW
    with upstream_and_proxy(window, "--window", str(window), "--preset", preset) as (upstream, proxy):
        watch, seen = Watch(upstream), Seen(name, covers_newest=preset in COVERING)
        agent = kind(proxy.url, watch.sent)
        for turn in range(TURNS):
            agent.turn(streamed=turn % 2 == 1)
            if turn % TURNS_PER_LOOK == TURNS_PER_LOOK - 1 or turn == TURNS - 1:
                for sent, got in watch.look():
                    seen.check(sent, got)
        sessions = proxy.get("/api/v1/sessions")
        records = [record for session in sessions for record in session["compactions"]]
        compactions = [record for record in records if record["outcome"] in ("compacted", "pruned")]
        report = upstream.get("/scripted/report")
        assert len(sessions) == 1, f"one conversation became {len(sessions)} sessions"
        assert 0 < seen.rebuilt == len(compactions), f"{seen.rebuilt} rebuilt, {len(compactions)} recorded"
        assert sessions[0]["replies"] == seen.requests, (sessions[0]["replies"], seen.requests)
        assert report["largest_prompt_tokens"] <= window, report["largest_prompt_tokens"]
        if kind is AnthropicAgent and preset == "default":
            assert seen.unthought > 0, "thinking in front of a summary was never left out"
        if preset != "default":
            check_writer(watch, compactions, kind.MODEL)
        print(f"{name}: {TURNS} turns, {seen.requests} requests, {seen.rebuilt} compactions, {len(watch.summaries)} summary calls, "
              f"{seen.kept} messages passed byte for byte, {report['overflows']} overflows recovered")


def restarted(kind, name):
    """A server that is killed in the middle of a long session, and started again on its store: nobody notices."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--window", str(WINDOW), "--store", f"sqlite:{folder}/epitome.db"]
        with upstream_and_proxy(WINDOW, *flags) as (upstream, proxy):
            watch, seen = Watch(upstream), Seen(name)
            agent = kind(proxy.url, watch.sent)
            for turn in range(TURNS):
                if turn == TURNS // 2:
                    proxy.kill_and_restart()
                agent.turn(streamed=turn % 2 == 1)
                if turn % TURNS_PER_LOOK == TURNS_PER_LOOK - 1 or turn == TURNS - 1:
                    for sent, got in watch.look():
                        seen.check(sent, got)
            sessions = proxy.get("/api/v1/sessions")
            records = [record for session in sessions for record in session["compactions"]]
            compactions = [record for record in records if record["outcome"] in ("compacted", "pruned")]
            assert len(sessions) == 1, f"one conversation became {len(sessions)} sessions"
            assert 0 < seen.rebuilt == len(compactions), f"{seen.rebuilt} rebuilt, {len(compactions)} recorded"
            print(f"{name}: {TURNS} turns, killed in the middle, {seen.rebuilt} compactions and as many new contexts")


def check_writer(watch, compactions, model):
    """The client's own model wrote every summary, and was asked with the client's own key."""
    writers = {record.get("summarizer") for record in compactions if record["outcome"] == "compacted"}
    assert writers == {model}, f"summaries by {writers}: {compactions[-1].get('fallbacks')}"
    keys = {one["headers"].get("x-api-key", one["headers"].get("authorization")) for one in watch.recorded}
    assert len(keys) == 1 and None not in keys, f"{len(keys)} keys were seen"
    assert {json.loads(one["body"])["model"] for one in watch.summaries} == {model}


def twins(kind, name):
    """Two conversations that begin alike, in turn; then one of them goes back and starts over from there."""
    with upstream_and_proxy(WINDOW, "--window", str(WINDOW)) as (upstream, proxy):
        watch = Watch(upstream)
        agents = [kind(proxy.url, watch.sent, words="the parser") for _ in range(2)]
        for turn in range(24):
            for agent, mark in zip(agents, MARKS):
                agent.words, agent.lines = mark if turn >= 3 else "the parser", 60
                agent.turn(streamed=turn % 2 == 0)
            if turn == 5:
                rewound = len(agents[1].history)
        agents[1].history[rewound:], agents[1].words = [], MARKS[2]
        for turn in range(12):
            agents[1].turn(streamed=turn % 2 == 0)
        sessions = proxy.get("/api/v1/sessions")
        assert len(sessions) == 1, f"what begins alike under one key became {len(sessions)} sessions"
        count = len(sessions[0]["compactions"])
        assert count > 1, f"both were to be compacted: {count} compactions"
        check_apart(watch, name)


def check_apart(watch, name):
    """No request holds words its client did not send."""
    count = 0
    for sent, got in watch.look():
        for mark in MARKS:
            assert mark in sent or mark not in got, f"{name}: {mark} crossed into another conversation"
        count += 1
    print(f"{name}: {count} requests of conversations with the same opening, none mixed")


def tenants(kind, name):
    """The same words under another key are another conversation."""
    with upstream_and_proxy(WINDOW, "--window", str(WINDOW)) as (upstream, proxy):
        sent = []
        for key in ("key-of-one", "key-of-another"):
            kind(proxy.url, sent, key=key).turn(streamed=False)
        count = len(proxy.get("/api/v1/sessions"))
        assert count == 2, f"two keys share {count} sessions"
        check_report(upstream.get("/scripted/report"))
        print(f"{name}: two keys, two sessions")


def recovered(kind, name):
    """Where the window is smaller than we believe, the provider's refusal never reaches the client."""
    with upstream_and_proxy(WINDOW, "--window", str(2 * WINDOW)) as (upstream, proxy):
        watch = Watch(upstream)
        agent = kind(proxy.url, watch.sent)
        agent.lines = 150
        for turn in range(30):
            agent.turn(streamed=turn % 2 == 1)
        requests = len(list(watch.look()))
        overflows = upstream.get("/scripted/report")["overflows"]
        recoveries = sum(session["recoveries"] for session in proxy.get("/api/v1/sessions"))
        assert 0 < recoveries <= overflows, (recoveries, overflows)
        print(f"{name}: {requests} requests against half the window we believed in, {recoveries} overflows recovered")


def chained(name):
    """A client that names the response it goes on from, over the window several times, with a server that is killed."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--window", str(WINDOW), "--store", f"sqlite:{folder}/epitome.db"]
        with upstream_and_proxy(WINDOW, *flags) as (upstream, proxy):
            sent = []
            agent = ChainedAgent(proxy.url, sent)
            agent.lines = 60
            for turn in range(60):
                if turn == 30:
                    proxy.kill_and_restart()
                agent.turn(streamed=turn % 2 == 1)
            report, sessions = upstream.get("/scripted/report"), proxy.get("/api/v1/sessions")
            check_report(report)
            made = [record for record in sessions[0]["compactions"] if record["outcome"] == "compacted"]
            assert len(sessions) == 1 and report["overflows"] == 0, (len(sessions), report["overflows"])
            assert len(made) > 1 and report["largest_prompt_tokens"] <= WINDOW, (len(made), report["largest_prompt_tokens"])
            print(f"{name}: {len(sent)} requests by name, killed in the middle, {len(made)} compactions, no overflow")


def main(kind, preset):
    began = time.monotonic()
    agent = {"anthropic": AnthropicAgent, "openai": OpenaiAgent, "responses": ResponsesAgent}[kind]
    long_session(agent, f"{kind} under {preset}", preset)
    if preset == "default":
        twins(agent, f"{kind} twins")
        recovered(agent, f"{kind} overflow")
        tenants(agent, f"{kind} tenants")
        restarted(agent, f"{kind} restarted")
    if kind == "responses" and preset == "default":
        chained("responses by name")
    print(f"{kind} under {preset}: passed in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
