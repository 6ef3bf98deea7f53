"""Rehearsals of dumps that leave something out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simkit.cli import main

if TYPE_CHECKING:
    import pytest

DUMP = """\
{apiVersion: v1, kind: Node, metadata: {name: n1, uid: "1"}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: lone, namespace: shop, uid: "2"}, spec: {nodeName: n1, containers: [{name: a, image: a}]}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: shop, uid: "3"}, spec: {}}
"""


def test_what_a_dump_leaves_out_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Namespaces are created, so that pods can be evicted; resources that a rehearsal depends on are named."""
    dump = tmp_path / "dump.yaml"
    dump.write_text(DUMP)
    assert main(["rehearse", "drain", "n1", "--dump", str(dump)]) == 1
    told = capsys.readouterr()
    assert "nothing replaces it" in told.out
    assert "created: shop" in told.err
    assert "autoscaling is not simulated" in told.err
    assert "the dump has no replicasets.apps, deployments.apps" in told.err
    assert "nodes" not in told.err.partition("the dump has no ")[2].partition(":")[0]
