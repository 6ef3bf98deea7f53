"""Analyses run where a browser's Python runs them: without RE2, cryptography, threads' clocks and processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, time

for name in ("re2", "cryptography", "httptools", "uvloop", "uvicorn", "greenlet", "grpc"):
    sys.modules[name] = None  # as if it were not installed
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
WITHOUT_PANDAS = """
import sys

for name in ("re2", "cryptography", "pandas", "matplotlib", "networkx"):
    sys.modules[name] = None
import simkit

cluster = simkit.Cluster(seed=1)
cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {automountServiceAccountToken: false, "
cluster.add_nodes(1)
cluster.apply(pod + "containers: [{name: web, image: nginx}]}}")
cluster.settle()
print(cluster.get("pod", "web")["status"]["phase"])
"""


def test_analyses_need_no_compiled_parts_but_those_that_browsers_have() -> None:
    """A pattern, which needs RE2, is refused in a sentence."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "regular expressions need the distribution google-re2" in done.stdout


def test_the_engine_runs_without_the_libraries_of_analyses_and_certificates() -> None:
    """No controller fails for want of them."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "Running\n"
    assert "Traceback" not in done.stderr
