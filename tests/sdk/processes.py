"""The two programs under test, started on free ports and stopped again."""

import json
import os
import subprocess
import tempfile
import urllib.request
from contextlib import contextmanager


# What the system prompt of a summary call says.
SUMMARY_MARKER = "You write summaries of work"


class Running:
    """A program that has said where it listens."""

    def __init__(self, command, told):
        self.command, self.told = list(command), told
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.told, text=True)
        first = self.process.stdout.readline().split()
        if not first:
            self.told.seek(0)
            raise SystemExit(f"{self.command[0]} did not start: {self.told.read()}")
        self.url = first[-1]

    def kill_and_restart(self):
        """Kills it and starts it again where it was."""
        self.process.kill()
        self.process.wait(timeout=10)
        self.command[self.command.index("--listen") + 1] = self.url.removeprefix("http://")
        self.start()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)


@contextmanager
def running(*command):
    """Starts a program whose first line ends in the URL it listens on."""
    with tempfile.TemporaryFile("w+") as told:
        program = Running(command, told)
        try:
            yield program
        finally:
            program.process.terminate()
            program.process.wait(timeout=10)


@contextmanager
def upstream_and_proxy(window, *serve_flags):
    """The scripted upstream with a window, and `epitome serve` in front of it, which keeps sessions only where it is told to."""
    if "--store" not in serve_flags:
        serve_flags += ("--store", "memory")
    scripted = [os.environ["SCRIPTED_UPSTREAM"], "--window", str(window), "--record", "--tool-rounds", "1"]
    scripted += ["--summary-marker", SUMMARY_MARKER]
    with running(*scripted) as upstream:
        serve = [os.environ["EPITOME"], "serve", "--listen", "127.0.0.1:0", "--upstream", upstream.url]
        with running(*serve, *serve_flags) as proxy:
            yield upstream, proxy
