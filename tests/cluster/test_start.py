"""A starting server reads the tables of its own release only."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json, sys
opened = []
def hear(event, arguments):
    if event == "open" and "datasets" in str(arguments[0]):
        opened.append(str(arguments[0]).rpartition("datasets")[2].strip("/"))
sys.addaudithook(hear)
import simkit
cluster = simkit.Cluster(sys.argv[1], seed=1)
cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
print(json.dumps(sorted(set(opened))))
"""


def read(release: str) -> list[str]:
    """The bundled files that a fresh process opens for a server of a release."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, release], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_a_server_of_1_30_reads_no_differences() -> None:
    """No schema of another release is looked at."""
    assert not [name for name in read("1.30") if name.startswith("api/releases/schemas")]


@pytest.mark.parametrize(("release", "between"), [("1.28", ("1.28", "1.29")), ("1.32", ("1.31", "1.32"))])
def test_another_server_reads_what_lies_between(release: str, between: tuple[str, ...]) -> None:
    """One table a release on the way from 1.30, none beyond."""
    schemas = [name for name in read(release) if name.startswith("api/releases/schemas")]
    assert schemas == [f"api/releases/schemas/{each}.json.gz" for each in between]
