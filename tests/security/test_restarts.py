"""Servers that were killed between two steps of their own: the next one goes on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.errors import StatusError

_WORD = "customresourcedefinition"


def definition(plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "kind": plural.title()}
    spec = {"group": "a.example", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": f"{plural}.a.example"}, "spec": spec}


def test_definitions_of_custom_resources_are_finished(tmp_path: Path) -> None:
    """One that was being deleted stayed for ever, and one that was new had no condition."""
    cluster = simkit.Cluster(options=Options(storage=f"sqlite:{tmp_path / 'a.db'}"))
    cluster.create(definition("going"))
    cluster.create({"apiVersion": "a.example/v1", "kind": "Going", "metadata": {"name": "one"}})
    cluster._control_plane.engine.after_write = lambda: None  # it is killed here
    cluster.delete(_WORD, "going.a.example")
    cluster.create(definition("coming"))
    for file in tmp_path.glob("a.db*"):
        shutil.copy(file, tmp_path / file.name.replace("a", "b", 1))
    cluster = simkit.Cluster(options=Options(storage=f"sqlite:{tmp_path / 'b.db'}"))
    with pytest.raises(StatusError):
        cluster.get(_WORD, "going.a.example")
    told = cluster.get(_WORD, "coming.a.example")["status"]["conditions"]
    assert {each["type"]: each["status"] for each in told} == {"NamesAccepted": "True", "Established": "True"}
