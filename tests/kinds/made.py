"""Objects as the server makes them from what a client writes: decoded, defaulted, prepared."""

from __future__ import annotations

from typing import Any

from simkit.kinds.strategy import Strategy, strategy_of
from simkit.language.merge.mergepatch import merge_patch
from simkit.meta.names import GroupKind, GroupVersionKind
from simkit.meta.objects import Draft, Object, copied, group_version_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import normalise
from tests.releases import BASE

CATALOGUE = Catalogue.for_release("1.30")
CONTAINER = {"name": "c", "image": "registry.test/app:1"}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [CONTAINER]}}
SELECTED = {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}
ENDING = {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}}

BASES: dict[str, Draft] = {
    "v1/Pod": {"spec": {"containers": [CONTAINER]}},
    "v1/PodTemplate": {"template": TEMPLATE},
    "v1/ReplicationController": {"spec": {"template": TEMPLATE}},
    "v1/Binding": {"target": {"kind": "Node", "name": "n1"}},
    "apps/v1/Deployment": {"spec": SELECTED},
    "apps/v1/ReplicaSet": {"spec": SELECTED},
    "apps/v1/StatefulSet": {"spec": {**SELECTED, "serviceName": "s"}},
    "apps/v1/DaemonSet": {"spec": SELECTED},
    "apps/v1/ControllerRevision": {"data": {"a": 1}, "revision": 1},
    "batch/v1/Job": {"spec": ENDING},
    "batch/v1/CronJob": {"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": ENDING}}},
}
"""The least of each kind that is well."""


def strategy(kind: str) -> Strategy:
    """The strategy of a kind that is written as ``apps/v1/Deployment``."""
    api_version, _, name = kind.rpartition("/")
    return strategy_of(GroupKind(api_version.partition("/")[0] if "/" in api_version else "", name))


def written(kind: str, change: Object | None = None) -> Draft:
    """The least object of a kind with a merge patch applied, as a client would send it."""
    api_version, _, name = kind.rpartition("/")
    head = {"apiVersion": api_version, "kind": name, "metadata": {"name": "x", "namespace": "n"}}
    body: Any = merge_patch(copied({**head, **BASES[kind]}), copied(change or {}))
    return dict(body)


def made(obj: Object) -> Draft:
    """The new object after preparation and defaulting, before validation."""
    kind = f"{obj['apiVersion']}/{obj['kind']}"
    draft = _decoded(obj)
    draft["metadata"]["uid"] = "uid-1"
    if "status" in draft:
        del draft["status"]
    strategy(kind).default(BASE, draft)
    strategy(kind).prepare(BASE, draft, None)
    strategy(kind).default(BASE, draft)
    return draft


def changed(live: Object, change: Object) -> Draft:
    """A stored object after a merge patch of everything but its status."""
    kind = f"{live['apiVersion']}/{live['kind']}"
    draft = _decoded(merge_patch(copied(live), change))
    draft.pop("status", None)
    if "status" in live:
        draft["status"] = live["status"]
    strategy(kind).default(BASE, draft)
    strategy(kind).prepare(BASE, draft, live)
    strategy(kind).default(BASE, draft)
    return draft


def errors(obj: Object, old: Object | None = None, part: str = "") -> list[str]:
    """All that is wrong with an object, as sentences, in the order of an answer."""
    of_kind = strategy(f"{obj['apiVersion']}/{obj['kind']}")
    special = (of_kind.subresources or {}).get(part)
    if special is not None:
        return [error.told(BASE) for error in special.validate(BASE, obj, old)]
    first, own = of_kind.validate_first(BASE, obj, old), list(of_kind.validate(BASE, obj, old))
    if old is None:
        return [error.told(BASE) for error in (*first, *own)]
    again = [each for check in of_kind.metadata_checks.after if check.kind and check.asked(BASE) for each in own]
    return [error.told(BASE) for error in (*first, *own, *again, *of_kind.validate_last(BASE, obj, old))]


def with_status(live: Object, status: Object) -> Draft:
    """A stored object after its status was written."""
    of_kind = strategy(f"{live['apiVersion']}/{live['kind']}")
    draft = _decoded({**copied(live), "status": status})
    special = (of_kind.subresources or {})["status"]
    special.merge(BASE, draft, live)
    return draft


def _decoded(obj: Object) -> Draft:
    version = group_version_of(obj)
    schema = CATALOGUE.schema(GroupVersionKind(version.group, version.version, obj["kind"]))
    draft = {**normalise(BASE, copied(obj), schema), "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    draft["metadata"] = dict(draft["metadata"])
    return draft
