"""A kopf operator, run as its users run one, keeps custom resources of a served cluster."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import simkit

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("kopf") is None, reason="kopf is not installed"),
    pytest.mark.slow,
]
OPERATOR = Path(__file__).with_name("operator_of_widgets.py")
PATIENCE = 60.0
"""Seconds in which the operator must have done its work on a busy machine."""

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Area", "type": "integer", "jsonPath": ".status.area"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def widget(name: str, size: int) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size}}


@pytest.fixture
def cluster() -> simkit.Cluster:
    made = simkit.Cluster(seed=1)
    made.create(DEFINITION)
    return made


@pytest.fixture
def operator(cluster: simkit.Cluster, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The operator as a program of its own, its log in a file."""
    cluster.create(widget("early", 2))
    server = cluster.serve(kubeconfig=tmp_path / "kubeconfig")
    environment = {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")}
    command = [sys.executable, "-m", "kopf", "run", "--all-namespaces", "--standalone", "--verbose", str(OPERATOR)]
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            yield running
        finally:
            running.terminate()
            running.wait(30)
            server.stop()


def eventually(what: Callable[[], bool], operator: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until something holds; a failure shows what the operator wrote."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert operator.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


def test_an_operator_keeps_its_resources(
    cluster: simkit.Cluster, operator: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """It finds what was there, hears of what comes and changes, writes statuses and events, and lets go at the end."""

    def status(name: str) -> dict[str, Any]:
        return dict(cluster.get("widget", name).get("status") or {})

    def wait(what: Callable[[], bool]) -> None:
        eventually(what, operator, tmp_path / "log")

    def told(text: str) -> bool:
        return any(text in (each.get("message") or "") for each in cluster.list("events"))

    wait(lambda: status("early").get("area") == 4 and told("it ticks"))
    cluster.create(widget("late", 3))
    wait(lambda: status("late").get("area") == 9)
    changed = {**cluster.get("widget", "late")}
    cluster.apply([widget("late", 5)])
    wait(lambda: status("late").get("area") == 25)
    assert changed["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    wait(lambda: told("late is 5 wide"))
    cluster.delete("widget", "late")
    wait(lambda: [each["metadata"]["name"] for each in cluster.list("widgets")] == ["early"])
    assert "Traceback" not in (tmp_path / "log").read_text()
