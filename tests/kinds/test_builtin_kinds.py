"""Kinds that run no pods: errors as stories, defaults as observed, tables; nothing that a schema allows breaks them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from simkit.kinds.strategy import Strategy, WriteContext, strategy_of
from simkit.meta.identity import Identity
from simkit.meta.names import GroupKind, GroupVersion, GroupVersionKind
from simkit.meta.objects import Draft, Object, copied
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import normalise
from simkit.schema.table_columns import columns_of
from tests.kinds.bases import BASES, UNWELL
from tests.kinds.conversions.generated import objects
from tests.kinds.made import errors
from tests.releases import BASE
from tools.facts import read

pytestmark = pytest.mark.slow

CATALOGUE = Catalogue.for_release("1.30", everything=True)
STORIES = yaml.safe_load((Path(__file__).parent / "builtin_errors.yaml").read_text())
KINDS = sorted(BASES)


def split(kind: str) -> GroupVersionKind:
    """The schema of a kind that is written as ``policy/v1/PodDisruptionBudget``."""
    api_version, _, name = kind.rpartition("/")
    return GroupVersionKind(*GroupVersion.parse(api_version), name)


def strategy(kind: str) -> Strategy:
    return strategy_of(GroupKind(split(kind).group, split(kind).kind))


def merged(base: Any, change: Any) -> Any:
    """A merge patch, as clients send it."""
    if not isinstance(change, dict):
        return change
    result = dict(base) if isinstance(base, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def decoded(obj: Object) -> Draft:
    gvk = split(f"{obj['apiVersion']}/{obj['kind']}")
    draft = {
        **normalise(BASE, copied(obj), CATALOGUE.schema(gvk)),
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
    }
    draft["metadata"] = dict(draft["metadata"])
    return draft


def finished(draft: Draft, live: Object | None) -> Draft:
    """The draft after the registry's preparation, before validation."""
    of_kind = strategy(f"{draft['apiVersion']}/{draft['kind']}")
    of_kind.default(BASE, draft)
    if not of_kind.keeps_status_on_create:
        draft.pop("status", None)
    if live is not None and "status" in live:
        draft["status"] = live["status"]
    of_kind.prepare(BASE, draft, live)
    if of_kind.prepare_with_context is not None:
        of_kind.prepare_with_context(BASE, draft, live, WriteContext(0, Identity("ann", ("devs",)), lambda: "made-up"))
    of_kind.default(BASE, draft)
    return draft


def written(kind: str, change: Object | None = None) -> Draft:
    api_version, _, name = kind.rpartition("/")
    head = {"apiVersion": api_version, "kind": name, "metadata": {"name": "x", "namespace": "n"}}
    body: Draft = merged(merged(head, BASES[kind]), change or {})
    return body


def made(kind: str, change: Object | None = None) -> Draft:
    """A new object as it is stored."""
    return finished(decoded(written(kind, change)), None)


def changed(live: Object, change: Object) -> Draft:
    return finished(decoded(merged(live, change)), live)


def with_part(live: Object, change: Object, part: str) -> Draft:
    draft = decoded(merged(live, change))
    (strategy(f"{live['apiVersion']}/{live['kind']}").subresources or {})[part].merge(BASE, draft, live)
    return draft


def about(story: Object) -> str:
    return str(story["about"])


@pytest.mark.parametrize("story", STORIES, ids=about)
def test_validation_errors(story: Object) -> None:
    """Every error is told at once, of a new object, of a change or of a part."""
    obj = made(story["kind"], story.get("change"))
    part = story.get("part", "")
    if part:
        found = errors(with_part(obj, story["then"], part), obj, part)
    elif "then" in story:
        assert errors(obj) == []
        found = errors(changed(obj, story["then"]), obj)
    else:
        found = errors(obj)
    assert found == story["errors"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in UNWELL])
def test_the_least_object_is_well(kind: str) -> None:
    """The smallest object is valid, can be written again, and does not change then."""
    obj = made(kind)
    assert errors(obj) == []
    again = changed(obj, {})
    assert again == obj
    assert errors(again, obj) == []


@pytest.mark.parametrize("kind", KINDS)
def test_rows_fit_their_columns(kind: str) -> None:
    """Every column has its cell, of the column's type."""
    gvk, obj = split(kind), made(kind)
    resource = CATALOGUE.kind(gvk)
    row = strategy(kind).print_row
    assert resource is not None
    if row is None:
        return
    obj["metadata"]["creationTimestamp"] = "1970-01-01T00:00:00Z"
    cells = row(BASE, obj, 7200)
    columns = columns_of(resource.gvr)
    assert len(cells) == len(columns)
    assert cells[0] == "x" or gvk.kind in ("Event", "APIService")
    for cell, column in zip(cells, columns, strict=True):
        assert isinstance(cell, {"integer": int, "boolean": bool}.get(column.type, str | int)), column


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_schema_allows(kind: str) -> None:
    """Any object can be defaulted, prepared, checked and shown; doing the first twice changes nothing."""
    gvk, of_kind = split(kind), strategy(kind)
    schema = CATALOGUE.schema(gvk)

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(objects(schema, gvk.api_version, gvk.kind), objects(schema, gvk.api_version, gvk.kind))
    def check(one: Draft, other: Draft) -> None:
        obj = finished(decoded(one), None)
        again = copied(obj)
        of_kind.default(BASE, again)
        assert again == obj
        later = finished(decoded(merged(copied(obj), {name: other[name] for name in other if name != "kind"})), obj)
        for new, old in ((obj, None), (obj, obj), (later, obj)):
            last = of_kind.validate_last(BASE, new, old) if old is not None else ()
            orjson.dumps([error.cause(BASE) for error in (*of_kind.validate(BASE, new, old), *last)])
            assert all(isinstance(text, str) for text in of_kind.warnings(BASE, new, old))
        for part in of_kind.subresources or {}:
            draft = with_part(obj, {"status": other.get("status") or {}}, part)
            orjson.dumps([error.cause(BASE) for error in (of_kind.subresources or {})[part].validate(BASE, draft, obj)])
        assert all(isinstance(value, str) for value in of_kind.selectable_fields(later).values())
        if of_kind.print_row is not None:
            orjson.dumps(list(of_kind.print_row(BASE, later, 0)))

    check()


def at_path(obj: Any, path: str) -> Any:
    """The value under a path of the fact table, of the first element of a list."""
    for step in path.split("."):
        name, is_list = step.removesuffix("[]"), step.endswith("[]")
        obj = (obj or {}).get(name)
        if is_list:
            obj = (obj or [None])[0]
    return obj


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("admissionregistration.k8s.io/v1/MutatingWebhookConfiguration", {}),
        ("admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy", {}),
        ("autoscaling/v2/HorizontalPodAutoscaler", {}),
        ("discovery.k8s.io/v1/EndpointSlice", {}),
        ("flowcontrol.apiserver.k8s.io/v1/FlowSchema", {}),
        (
            "flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration",
            {"spec": {"limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}},
        ),
        ("networking.k8s.io/v1/Ingress", {}),
        ("policy/v1/PodDisruptionBudget", {}),
        ("scheduling.k8s.io/v1/PriorityClass", {}),
        ("storage.k8s.io/v1/CSIDriver", {}),
        ("storage.k8s.io/v1/StorageClass", {}),
        ("storage.k8s.io/v1/VolumeAttachment", {}),
        ("v1/Endpoints", {}),
        ("v1/PersistentVolumeClaim", {}),
        ("v1/ResourceQuota", {}),
    ],
)
def test_defaults_as_observed(kind: str, change: Object) -> None:
    """The defaults of kube-apiserver for a small object are the same here."""
    observed = read("defaults-1.30.json")["observed"][kind]
    obj = made(kind, change)
    for path, value in observed.items():
        if not path.startswith("metadata."):
            assert at_path(obj, path) == value, path


def test_reports_of_attachers_have_bounds() -> None:
    """Both bounds are told as the larger one, as kube-apiserver has it, and a status is looked at twice."""
    live = made("storage.k8s.io/v1/VolumeAttachment")
    status = {"attached": False, "attachmentMetadata": {"a": "b" * 262144}, "detachError": {"message": "c" * 1025}}
    draft = with_part(live, {"status": status}, "status")
    texts = [f"status.{name}: Too long: must have at most 262144 bytes" for name in _REPORTED]
    assert errors(draft, live, "status") == [*texts, *texts]


_REPORTED = ("attachmentMetadata", "detachError.message")


def test_parameters_of_storage_classes_are_counted() -> None:
    """More than 512 of them are too many, whatever they say."""
    story = {"parameters": {f"p{number}": "" for number in range(513)}}
    assert errors(made("storage.k8s.io/v1/StorageClass", story)) == [
        "parameters: Too long: must have at most 512 bytes"
    ]


def test_generations_of_drivers() -> None:
    """A new storage driver has no generation; its first change makes it the first one."""
    live = made("storage.k8s.io/v1/CSIDriver")
    other = changed(live, {"spec": {"podInfoOnMount": True}})
    same = changed(other, {"metadata": {"labels": {"a": "b"}}})
    assert [one["metadata"].get("generation") for one in (live, other, same)] == [None, 1, 1]
