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
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_ACCEPTS: Final = (
    "application/json",
    "application/json",
    _TABLE,
    _PARTIAL,
    "text/plain",
    f"{_PARTIAL},application/json",
)
_WRITES: Final = (
    "",
    "",
    "?dryRun=All",
    "?dryRun=Some",
    "?fieldValidation=Strict",
    "?fieldValidation=Ignore",
    "?fieldManager=other",
    "?fieldManager=bad/%01",
)
_LISTS: Final = (
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
        scope = f"/namespaces/{NAMESPACE}" if resource.namespaced else ""
        self._path = f"{resource.path}{scope}/{resource.resource}"
        self._place = f"{self._path}/{name_of(self._object)}"

    def steps(self, most: int = 8) -> Iterator[Step]:
        """The requests in order."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        yield {"method": "POST", "path": "/api/v1/namespaces", "body": body, "compare": "status"}
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
        )
        for _ in range(self._random.randint(1, most)):
            yield self._random.choice(choices)()
        yield {"method": "DELETE", "path": self._place, "body": self._random.choice(_DELETIONS)}
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
        return self._random.choice(_WRITES)

    def _create(self, obj: Mapping[str, Any]) -> Step:
        return {"method": "POST", "path": f"{self._path}{self._options()}", "body": obj}

    def _replace(self) -> Step:
        return {"method": "PUT", "path": f"{self._place}{self._options()}", "body": self._some()}

    def _status(self) -> Step:
        return {"method": "PUT", "path": f"{self._place}/status{self._options()}", "body": self._some()}

    def _read_part(self) -> Step:
        return {"method": "GET", "path": f"{self._place}/{self._random.choice(_PARTS)}"}

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
        return {"method": "GET", "path": self._place, "headers": {"Accept": self._random.choice(_ACCEPTS)}}

    def _list(self) -> Step:
        headers = {"Accept": self._random.choice(_ACCEPTS)}
        options = self._random.choice(_LISTS)
        if not self._resource.namespaced and "fieldSelector" not in options:
            mine = f"fieldSelector=metadata.name%3D{name_of(self._object)}"
            options = f"{options}&{mine}" if options else f"?{mine}"
        return {"method": "GET", "path": f"{self._path}{options}", "headers": headers}
