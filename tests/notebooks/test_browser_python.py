"""Analyses run where a browser's Python runs them: without RE2, cryptography, threads' clocks and processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import importlib.abc, sys, time

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("re2", "cryptography", "httptools", "uvloop", "uvicorn", "greenlet", "grpc"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
del time.thread_time
import simkit

cluster = simkit.demo()
assert len(cluster.who_can("get", "secrets", namespace="billing"))
assert cluster.can("group:oidc:helpdesk", "get", "pods", namespace="billing")
assert len(cluster.findings())
assert len(cluster.escalations(goal="cluster-admin"))
assert simkit.cel("self.replicas <= self.max", self={"replicas": 3, "max": 5}).value is True
try:
    simkit.cel("'abc'.matches('^a')")
except simkit.SimkitError as error:
    print(error)
"""


@pytest.mark.slow
def test_analyses_need_no_compiled_parts_but_those_that_browsers_have() -> None:
    """A pattern, which needs RE2, is refused in a sentence."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "regular expressions need the distribution google-re2" in done.stdout
