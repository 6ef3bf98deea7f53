"""What kubectl 1.32 printed against a served cluster: ``python -m tests.notebook.kubectl.recordings`` records it anew.

A recording is compared without what differs between two runs: ages, identifiers, names that the server made up.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import simkit

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded.json"
START = datetime(2026, 11, 23, 12, tzinfo=UTC)
SECONDS = 90
"""How long the cluster runs before the first command, so that its pods run."""
PATIENCE = 10
"""Seconds that a command may take while it is recorded."""
_CHANGING = (
    (re.compile(r"\b(\d+(s|m|h|d|y))+\b *"), "AGE "),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b *"), "ADDRESS "),
    (re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "XXXXX"),
    (re.compile(r"(?<=Resource Version:)( +)\d+"), " NUMBER"),
)
_EVENTS = re.compile(r"^Events:\n(  .*\n)+", re.MULTILINE)


class Told(NamedTuple):
    """A command with its standard input, and what it printed: standard error after standard output."""

    section: int
    line: str
    stdin: str
    text: str = ""
    code: int = 0


def commands() -> Iterator[Told]:
    """The commands, without what they print."""
    section = 0
    for line in (FOLDER / "commands.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("--"):
            section += 1
        elif not line.startswith("#"):
            words, _, stdin = line.partition(" <<< ")
            yield Told(section, words, stdin.replace("\\n", "\n"))


def recorded() -> list[Told]:
    """What was recorded."""
    return [Told(*each) for each in json.loads(RECORDED.read_text(encoding="utf-8"))]


def comparable(text: str) -> str:
    """A text without what differs between two runs."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return _EVENTS.sub(lambda found: re.sub(" +", " ", re.sub("--+", "--", found[0])), text)


def cluster() -> simkit.Cluster:
    """A cluster whose clock stands still, with two nodes that have run the objects for a while."""
    clock = simkit.SimulatedClock(START)
    made = simkit.Cluster(options=simkit.Options(seed=1, clock=clock))
    made.add_nodes(2)
    made.apply(FOLDER / "objects.yaml")
    made.settle()
    made.advance(SECONDS)
    return made


def _program() -> str:
    """kubectl 1.32, or the one of the machine: some are packaged with one program for each release."""
    found = shutil.which("kubectl")
    assert found is not None, "there is no kubectl on this machine"
    own = Path(found).resolve().with_name("kubectl.1.32")
    return str(own) if own.exists() else found


def _record() -> None:
    program, told, section, server = _program(), [], -1, None
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "kubeconfig"
        for each in commands():
            if each.section != section:
                if server is not None:
                    server.stop()
                server, section = cluster().serve(kubeconfig=config), each.section
            command = [program, "--kubeconfig", str(config), *shlex.split(each.line)]
            done = subprocess.run(
                command, input=each.stdin, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
            text = (done.stdout + done.stderr).replace("kubernetes-admin", "simkit-admin")  # of the kubeconfig
            told.append(each._replace(text=comparable(text), code=done.returncode))
        if server is not None:
            server.stop()
    RECORDED.write_text(json.dumps(told, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record()
