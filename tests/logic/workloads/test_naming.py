"""The hashes in names, against those that a real cluster gave."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from simkit.logic.workloads.revisions import revision_hash, template_hash, template_text
from simkit.logic.workloads.rollout import bare_template
from tests.shared import SHARED, needs_shared

Object = Mapping[str, Any]


@pytest.fixture(scope="module")
def recorded() -> Sequence[Object]:
    """The objects of a recorded cluster."""
    with gzip.open(SHARED / "datasets" / "operators-and-teams.json.gz") as file:
        items: list[Object] = json.load(file)["items"]
        return items


def owner(obj: Object) -> Object:
    found: Object = obj["metadata"]["ownerReferences"][0]
    return found


@needs_shared
def test_replica_sets_are_called_as_recorded(recorded: Sequence[Object]) -> None:
    """More than a hundred templates of products and of a company."""
    sets = [each for each in recorded if each["kind"] == "ReplicaSet"]
    assert len(sets) > 100
    for each in sets:
        assert template_hash(bare_template(each)) == each["metadata"]["labels"]["pod-template-hash"]


@needs_shared
def test_revisions_are_called_as_recorded(recorded: Sequence[Object]) -> None:
    """Daemon sets hash the template as a structure, stateful sets the revision as data."""
    templates = {each["metadata"]["uid"]: each["spec"]["template"] for each in recorded if each["kind"] == "DaemonSet"}
    revisions = [each for each in recorded if each["kind"] == "ControllerRevision"]
    assert {owner(each)["kind"] for each in revisions} == {"DaemonSet", "StatefulSet"}
    for each in revisions:
        of_structure = owner(each)["kind"] == "DaemonSet"
        hashed = template_hash(templates[owner(each)["uid"]]) if of_structure else revision_hash(each["data"])
        assert each["metadata"]["name"] == f"{owner(each)['name']}-{hashed}"


def test_collisions_give_other_names() -> None:
    """As many as it takes."""
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert len({template_hash(template), *(template_hash(template, number) for number in range(3))}) == 4
    assert len({revision_hash({"a": template}, number) for number in range(3)}) == 3


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (
            "100m",
            "value:(int64)100 scale:(resource.Scale)-3} d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)100m",
        ),
        ("512Mi", "value:(int64)536870912 scale:(resource.Scale)0}"),
        ("2e3", "scale:(resource.Scale)3}"),
        ("0", "s:(string)0 Format:(resource.Format)}"),
    ],
)
def test_amounts(amount: str, expected: str) -> None:
    """As the structure keeps them."""
    container = {"name": "c", "resources": {"limits": {"cpu": amount}}}
    assert expected in template_text({"spec": {"containers": [container]}})


def test_references_and_ports() -> None:
    """Pointers, inlined structures, numbers or names, and the order of the fields."""
    probe = {"httpGet": {"port": "web"}}
    text = template_text({"spec": {"containers": [{"name": "c", "livenessProbe": probe, "stdin": True}]}})
    assert "LivenessProbe:(*v1.Probe){ProbeHandler:(v1.ProbeHandler){Exec:(*v1.ExecAction)<nil> HTTPGet:" in text
    assert "Port:(intstr.IntOrString){Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)web}" in text
    assert text.index("EnvFrom:") < text.index("Env:") < text.index("Resources:")


def test_fields_are_printed_as_go_declares_them() -> None:
    """Also where the numbers of the protobuf fields have another order."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"}
    text = template_text({"metadata": {"ownerReferences": [owner]}, "spec": {}})
    assert "[{APIVersion:(string)v1 Kind:(string)Pod Name:(string)a UID:(types.UID)1 " in text
    source = {"clusterTrustBundle": {"name": "b", "optional": True, "path": "p"}}
    text = template_text({"spec": {"volumes": [{"name": "v", "projected": {"sources": [source]}}]}})
    assert "Optional:(*bool)true Path:(string)p}" in text
