"""The comparison with another server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simkit
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from tests.conformance.compare import Own, differences, main, representatives

if TYPE_CHECKING:
    import pytest

CLAIM: Object = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
CATALOGUE = Catalogue.for_release("1.30")


class Changed(Own):
    """A server that says one thing otherwise."""

    def create(self, path: str, obj: Object) -> Mapping[str, Any]:
        answer = super().create(path, obj)
        return {**answer, "code": 418} if answer.get("kind") == "Status" else answer


def test_a_server_agrees_with_itself() -> None:
    """Values that differ from run to run are no differences."""
    assert not list(differences(Own("1.30"), Own("1.30"), CLAIM, CATALOGUE, 200))


def test_differences_are_told() -> None:
    """With the place of the odd value, and what both said."""
    found = list(differences(Changed("1.30"), Own("1.30"), CLAIM, CATALOGUE, 2000))
    told = next(each for each in found if each.where == "spec.accessModes.0" and "Not_Valid!" in str(each.ours))
    assert (told.kind, told.theirs["code"], told.ours["code"]) == ("PersistentVolumeClaim", 418, 422)
    assert told.ours["told"][0].startswith('spec.accessModes: Unsupported value: "Not_Valid!"')


def test_the_largest_of_each_kind_is_sent() -> None:
    """Under a name that is free, without what servers write."""
    small = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "1"}}
    (chosen,) = representatives([{**small, "data": {"a": "b"}}, small])
    assert chosen == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a-again"}, "data": {"a": "b"}}


def test_a_server_by_its_kubeconfig(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line asks a running server."""
    server = simkit.Cluster(seed=1).serve(kubeconfig=tmp_path / "kubeconfig")
    objects = tmp_path / "claim.json"
    objects.write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}')
    try:
        assert main([str(objects), "--kubeconfig", str(tmp_path / "kubeconfig"), "--most", "50"]) == 0
    finally:
        server.stop()
    assert "0 differences" in capsys.readouterr().err
