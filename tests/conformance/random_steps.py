"""Random conversations: requests about one object of each kind, from a seed.

A conversation makes a namespace, creates an object there, and then updates, patches, applies, reads, lists and deletes
it, with odd values in fields of its schema, and with options, selectors and media types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, group_version_of, name_of
from simkit.schema.catalogue import Catalogue, Resource
from tests.conformance.conversation import Step
from tests.conformance.oddities import GONE, odd_values, with_value

NAMESPACE: Final = "{{unique}}"
OWN_NAMESPACE: Final[Step] = {
    "method": "POST",
    "path": "/api/v1/namespaces",
    "body": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    "compare": "status",
}
"""The first step: everything that is namespaced goes there."""
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
ACCEPTS: Final = (
    "application/json",
    "application/json",
    _TABLE,
    _PARTIAL,
    "text/plain",
    f"{_PARTIAL},application/json",
    f"{_TABLE},application/json;q=0.5",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "*/*",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Other;v=v1;g=meta.k8s.io",
)
WRITES: Final = (
    "",
    "",
    "?dryRun=All",
    "?dryRun=Some",
    "?fieldValidation=Strict",
    "?fieldValidation=Ignore",
    "?fieldManager=other",
    "?fieldManager=bad/%01",
    "?fieldValidation=Other",
    "?fieldManager=one&dryRun=All&fieldValidation=Warn",
    "?force=true",
)
LISTS: Final = (
    "",
    "?limit=1",
    "?labelSelector=a%3Db",
    "?labelSelector=a+in+(b,c),!d",
    "?labelSelector=a%3D%3D%3D",
    "?fieldSelector=metadata.name%3Dx",
    "?fieldSelector=spec.nothing%3Dx",
    "?resourceVersion=0",
    "?resourceVersionMatch=NotOlderThan",
    "?limit=-1",
    "?timeoutSeconds=x",
    "?limit=1&resourceVersion=0",
    "?limit=1&continue=x",
    "?resourceVersion=1&resourceVersionMatch=Other",
    "?resourceVersion=0&resourceVersionMatch=Exact",
    "?resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "?resourceVersion=x",
    "?sendInitialEvents=true",
    "?labelSelector=a&fieldSelector=metadata.namespace%3D{{unique}}",
    "?labelSelector=a+notin+(b)",
    "?fieldSelector=metadata.name!%3Dx",
    "?fieldSelector=metadata.labels.a%3Dx",
    "?fieldSelector=%3D%3D",
    "?includeObject=Object",
    "?includeObject=None",
    "?includeObject=Other",
    "?allowWatchBookmarks=x",
)
_DELETIONS: Final[Sequence[Any]] = (
    None,
    {"gracePeriodSeconds": 0},
    {"propagationPolicy": "Orphan"},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Other"},
    {"preconditions": {"uid": "x"}},
    {"preconditions": {"resourceVersion": "1"}},
    {"gracePeriodSeconds": -1},
    {"dryRun": ["All"]},
    {"dryRun": ["Some"]},
    {"dryRun": ["All", "All"]},
    {"gracePeriodSeconds": 0, "propagationPolicy": "Background"},
    {"orphanDependents": True},
    {"orphanDependents": False, "propagationPolicy": "Orphan"},
    {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5},
    {"apiVersion": "v1", "kind": "Other"},
    {"apiVersion": "v1", "kind": "DeleteOptions", "unknown": 1},
    {"gracePeriodSeconds": "x"},
    {"preconditions": {"uid": "", "resourceVersion": ""}},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
)
_DELETION_OPTIONS: Final = (
    "",
    "",
    "?gracePeriodSeconds=0",
    "?gracePeriodSeconds=x",
    "?propagationPolicy=Foreground",
    "?propagationPolicy=Other",
    "?dryRun=All",
    "?dryRun=Other",
    "?orphanDependents=true",
    "?fieldValidation=Strict",
)
_PARTS: Final = ("status", "status", "scale", "finalize", "other")
_PATCHES: Final = ("merge-patch+json", "merge-patch+json", "strategic-merge-patch+json")
_JSON_PATCHES: Final = (
    {"op": "add", "path": "/metadata/labels/a", "value": "b"},
    {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
    {"op": "remove", "path": "/metadata/labels"},
    {"op": "remove", "path": "/nothing/there"},
    {"op": "test", "path": "/kind", "value": "Other"},
    {"op": "copy", "from": "/metadata/name", "path": "/metadata/labels"},
    {"op": "move", "from": "/spec", "path": "/status"},
    {"op": "replace", "path": "/metadata/name", "value": "other"},
    {"op": "jump", "path": "/kind"},
)


_SCALED: Final = ("deployments", "replicasets", "statefulsets", "replicationcontrollers")
_POSTED: Final[Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]]] = {
    "pods": (
        ("binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "x"}, "target": {"name": "n"}}),
        ("binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "y"}, "target": {"kind": "Other"}}),
        ("eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "x"}}),
        ("eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": {"gracePeriodSeconds": 0}}),
        ("eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": {"dryRun": ["All"]}}),
        ("other", {}),
    ),
    "serviceaccounts": (
        ("token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 1}}),
        ("token", {"apiVersion": "authentication.k8s.io/v1", "kind": "Other"}),
        ("token", {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}}),
        ("token", {"spec": {"boundObjectRef": {"kind": "Other", "apiVersion": "v1", "name": "none"}}}),
    ),
}
"""Objects for subresources that are created, by the resource."""


class RandomSteps:
    """The steps of one conversation about an object.

    Parameters
    ----------
    obj
        A valid object, without what a server writes.
    seed
        The same seed gives the same steps.
    """

    def __init__(self, catalogue: Catalogue, obj: Object, seed: str) -> None:
        gvk = GroupVersionKind(*group_version_of(obj), str(obj["kind"]))
        resource = catalogue.kind(gvk)
        assert resource is not None, f"{gvk} is not served"
        self._resource: Resource = resource
        self._random, self._schema = Random(seed), catalogue.schema(gvk)
        given = name_of(obj)
        name = "x" if resource.namespaced else given if NAMESPACE in given else f"{NAMESPACE}-x"
        self._object: Mapping[str, Any] = {**obj, "metadata": {**obj["metadata"], "name": name}}
        if resource.namespaced:
            self._object["metadata"]["namespace"] = NAMESPACE
        self._odd = [
            (place, value)
            for place, value in odd_values(self._schema, self._object)
            if not ".".join(map(str, place)).startswith("metadata.n")
        ]
        status = (self._schema.fields or {}).get("status")
        self._status_values = list(odd_values(status, {}, ("status",))) if status is not None else []
        self._scaled = resource.resource in _SCALED
        self._posted = _POSTED.get(resource.resource, ())
        scope = f"/namespaces/{NAMESPACE}" if resource.namespaced else ""
        self._path = f"{resource.path}{scope}/{resource.resource}"
        self._place = f"{self._path}/{name_of(self._object)}"

    def steps(self, most: int = 8) -> Iterator[Step]:
        """The requests in order."""
        yield OWN_NAMESPACE
        yield self._create(self._object if self._random.random() < 0.7 else self._some())
        choices: Sequence[Callable[[], Step]] = (
            lambda: self._create(self._some()),
            self._replace,
            self._replace,
            self._merge,
            self._merge,
            self._strategic,
            self._json_patch,
            self._apply,
            self._apply,
            self._get,
            self._list,
            self._status,
            self._read_part,
            self._patch_part,
            self._patch_place,
            self._patch_place,
            self._refused,
            self._delete_some,
            self._delete,
            *([self._scale] if self._scaled else []),
            *([self._post_part] if self._posted else []),
        )
        for _ in range(self._random.randint(1, most)):
            yield self._random.choice(choices)()
        yield self._delete()
        yield {"method": "GET", "path": self._place}
        if not self._resource.namespaced:
            yield {**self._patched("merge-patch+json", {"metadata": {"finalizers": None}}, ""), "compare": "status"}
            yield {"method": "DELETE", "path": self._place, "compare": "status"}

    def _some(self) -> Mapping[str, Any]:
        """The object with one odd value, or with a few."""
        made = self._object
        for _ in range(self._random.choice((1, 1, 1, 2, 3)) if self._odd else 0):
            place, value = self._random.choice(self._odd)
            made = with_value(made, place, value)
        return made

    def _options(self) -> str:
        return self._random.choice(WRITES)

    def _create(self, obj: Mapping[str, Any]) -> Step:
        return {"method": "POST", "path": f"{self._path}{self._options()}", "body": obj}

    def _replace(self) -> Step:
        return {"method": "PUT", "path": f"{self._place}{self._options()}", "body": self._some()}

    def _status(self) -> Step:
        return {"method": "PUT", "path": f"{self._place}/status{self._options()}", "body": self._some()}

    def _read_part(self) -> Step:
        return {"method": "GET", "path": f"{self._place}/{self._random.choice(_PARTS)}"}

    def _delete(self) -> Step:
        options = self._random.choice(_DELETION_OPTIONS)
        return {"method": "DELETE", "path": f"{self._place}{options}", "body": self._random.choice(_DELETIONS)}

    def _delete_some(self) -> Step:
        """Deletes the objects of the namespace that a selector names, or of a cluster's own kind this one."""
        chosen = self._random.choice(("labelSelector=a%3Db", "labelSelector=!a", "fieldSelector=metadata.name%3Dx"))
        if not self._resource.namespaced:
            chosen = f"fieldSelector=metadata.name%3D{name_of(self._object)}"
        body = self._random.choice(_DELETIONS)
        return {"method": "DELETE", "path": f"{self._path}?{chosen}", "body": body}

    def _refused(self) -> Step:
        """One of the other steps, by somebody without rights."""
        made = self._random.choice((self._replace, self._merge, self._get, self._list, self._apply, self._delete))
        return {**made(), "as": "alice"}

    def _patch_place(self) -> Step:
        """A JSON patch of a place that the schema has."""
        changes = []
        for _ in range(self._random.choice((1, 1, 2)) if self._odd else 0):
            place, value = self._random.choice(self._odd)
            operation = self._random.choice(("add", "replace", "test", "remove"))
            path = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)
            change: dict[str, Any] = {"op": "remove" if value is GONE else operation, "path": path}
            changes.append(change if change["op"] == "remove" else {**change, "value": value})
        return self._patched("json-patch+json", changes, self._options())

    def _scale(self) -> Step:
        """A write of the size."""
        spec = self._random.choice(({"replicas": 2}, {"replicas": -1}, {}, {"replicas": "x"}, {"other": 1}))
        path, kind = f"{self._place}/scale{self._options()}", "application/merge-patch+json"
        if self._random.random() < 0.5:
            return {"method": "PATCH", "path": path, "headers": {"Content-Type": kind}, "body": {"spec": spec}}
        head = {"name": name_of(self._object), "namespace": self._random.choice((NAMESPACE, "other"))}
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": head, "spec": spec}
        return {"method": "PUT", "path": path, "body": body}

    def _post_part(self) -> Step:
        """A request to a subresource that is created, such as an eviction."""
        part, body = self._random.choice(self._posted)
        return {"method": "POST", "path": f"{self._place}/{part}{self._options()}", "body": body}

    def _patch_part(self) -> Step:
        body = self._part()
        if self._random.random() < 0.7 and self._status_values:
            place, value = self._random.choice(self._status_values)
            body = with_value({}, place, None if value is GONE else value)
        step = self._patched(self._random.choice(_PATCHES), body, self._options())
        return {**step, "path": self._place + "/status" + step["path"].removeprefix(self._place)}

    def _part(self) -> Mapping[str, Any]:
        """One or two top-level fields of an odd object, or none of what is there."""
        made = {key: value for key, value in self._some().items() if key not in ("apiVersion", "kind", "metadata")}
        if made and self._random.random() < 0.8:
            name = self._random.choice(sorted(made))
            return {name: made[name] if self._random.random() < 0.85 else None}
        return {"metadata": {"labels": self._random.choice(({"a": "b"}, {"a": None}, {"bad key": "c"}, None))}}

    def _patched(self, kind: str, body: Any, options: str) -> Step:
        headers = {"Content-Type": f"application/{kind}"}
        return {"method": "PATCH", "path": f"{self._place}{options}", "headers": headers, "body": body}

    def _merge(self) -> Step:
        return self._patched("merge-patch+json", self._part(), self._options())

    def _strategic(self) -> Step:
        return self._patched("strategic-merge-patch+json", self._part(), self._options())

    def _json_patch(self) -> Step:
        count = self._random.randint(1, 3)
        return self._patched("json-patch+json", self._random.sample(_JSON_PATCHES, count), self._options())

    def _apply(self) -> Step:
        manager = self._random.choice(("?fieldManager=one", "?fieldManager=two", "?fieldManager=two&force=true", ""))
        return self._patched("apply-patch+yaml", json.dumps(self._some()), manager)

    def _get(self) -> Step:
        return {"method": "GET", "path": self._place, "headers": {"Accept": self._random.choice(ACCEPTS)}}

    def _list(self) -> Step:
        headers = {"Accept": self._random.choice(ACCEPTS)}
        options = self._random.choice(LISTS)
        if not self._resource.namespaced and "fieldSelector" not in options:
            mine = f"fieldSelector=metadata.name%3D{name_of(self._object)}"
            options = f"{options}&{mine}" if options else f"?{mine}"
        return {"method": "GET", "path": f"{self._path}{options}", "headers": headers}
