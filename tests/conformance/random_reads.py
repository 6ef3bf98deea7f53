"""Random reads: conversations in which objects are written, and then listed and watched as of any moment of that.

The revisions of the writes are saved, and the places where lists go on, so that each server is asked about its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from tests.conformance.conversation import Step
from tests.conformance.random_steps import ACCEPTS, NAMESPACE, OWN_NAMESPACE

_LABELS: Final[Sequence[Mapping[str, str]]] = ({}, {"a": "b"}, {"a": "c"}, {"a": "b", "d": "e"})
_NAMES: Final = ("x", "y", "z")
_SELECTORS: Final = (
    "",
    "",
    "labelSelector=a%3Db",
    "labelSelector=a+in+(b,c),!d",
    "labelSelector=!a",
    "labelSelector=a!%3Db",
    "fieldSelector=metadata.name%3Dx",
    "fieldSelector=metadata.name!%3Dx",
    "fieldSelector=metadata.name%3Dx&labelSelector=a",
    "fieldSelector=metadata.namespace%3Dother",
    "fieldSelector=spec.nothing%3Dx",
    "labelSelector=%3D",
)
_OPTIONS: Final = (
    "",
    "",
    "",
    "allowWatchBookmarks=true",
    "sendInitialEvents=true",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
    "sendInitialEvents=false",
    "resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=Exact&sendInitialEvents=true",
    "resourceVersionMatch=Other&sendInitialEvents=true",
    "sendInitialEvents=x",
    "allowWatchBookmarks=x",
    "limit=1",
    "continue=x",
    "includeObject=Metadata",
    "includeObject=None",
)
_REVISIONS: Final = ("", "resourceVersion=", "resourceVersion=0", "resourceVersion=x", "resourceVersion=-1")
_MATCHES: Final = (
    "",
    "",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch=",
    "resourceVersionMatch=Other",
)
_OF_KIND: Final[Mapping[str, Sequence[str]]] = {
    "secrets": ("fieldSelector=type%3DOpaque", "fieldSelector=type!%3DOpaque"),
    "pods": (
        "fieldSelector=spec.nodeName%3D",
        "fieldSelector=spec.nodeName%3Dn",
        "fieldSelector=status.phase%3DPending",
        "fieldSelector=status.phase!%3DRunning,spec.restartPolicy%3DAlways",
        "fieldSelector=spec.hostNetwork%3Dfalse",
        "fieldSelector=status.podIP%3D1.2.3.4",
    ),
    "replicasets": ("fieldSelector=status.replicas%3D0", "fieldSelector=status.replicas%3D2"),
    "events": ("fieldSelector=involvedObject.kind%3DPod", "fieldSelector=reason!%3DOther"),
    "widgets": ("fieldSelector=spec.color%3Dred", "fieldSelector=spec.color!%3Dred"),
    "services": ("fieldSelector=spec.type%3DClusterIP", "fieldSelector=spec.clusterIP%3DNone"),
}
_CONTAINERS: Final = [{"name": "c", "image": "i"}]
_TEMPLATE: Final = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": _CONTAINERS}}
_SELECTOR: Final = {"matchLabels": {"app": "a"}}
KINDS: Final[Mapping[str, tuple[str, str, Mapping[str, Any], Sequence[Mapping[str, Any]]]]] = {
    "configmaps": ("v1", "ConfigMap", {"data": {"k": "1"}}, ({"data": {"k": "2"}}, {"data": None})),
    "secrets": ("v1", "Secret", {"stringData": {"k": "1"}}, ({"data": {"k": "Mg=="}}, {"immutable": True})),
    "pods": (
        "v1",
        "Pod",
        {"spec": {"containers": _CONTAINERS}},
        ({"spec": {"activeDeadlineSeconds": 9}}, {"status": {"phase": "Running"}}, {"status": {"podIP": "1.2.3.4"}}),
    ),
    "services": (
        "v1",
        "Service",
        {"spec": {"ports": [{"port": 80}], "selector": {"app": "a"}, "clusterIP": "None"}},
        ({"spec": {"sessionAffinity": "ClientIP"}}, {"spec": {"type": "ExternalName", "externalName": "e"}}),
    ),
    "replicasets": (
        "apps/v1",
        "ReplicaSet",
        {"spec": {"replicas": 0, "selector": _SELECTOR, "template": _TEMPLATE}},
        ({"spec": {"replicas": 2}}, {"status": {"replicas": 2}}),
    ),
    "events": (
        "v1",
        "Event",
        {"involvedObject": {"kind": "Pod", "name": "p", "namespace": NAMESPACE}, "reason": "R", "message": "m"},
        ({"count": 2}, {"message": "n"}),
    ),
    "leases": (
        "coordination.k8s.io/v1",
        "Lease",
        {"spec": {"holderIdentity": "h"}},
        ({"spec": {"holderIdentity": "i"}}, {"spec": {"leaseDurationSeconds": 5}}),
    ),
    "endpointslices": (
        "discovery.k8s.io/v1",
        "EndpointSlice",
        {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}]},
        ({"endpoints": []}, {"endpoints": [{"addresses": ["1.2.3.5"]}]}),
    ),
    "horizontalpodautoscalers": (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}},
        ({"spec": {"maxReplicas": 4}}, {"spec": {"minReplicas": 2}}),
    ),
    "widgets": (
        f"{NAMESPACE}.example.com/v1",
        "Widget",
        {"spec": {"color": "red"}},
        ({"spec": {"color": "blue"}}, {"spec": {"color": None}}, {"status": {"size": 1}}),
    ),
}
"""Version, kind, the rest of an object, and changes of it, by resource."""

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_DEFINITION: Final = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{NAMESPACE}.example.com"},
    "spec": {
        "group": f"{NAMESPACE}.example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"color": {"type": "string"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}
"""Of widgets, the only custom kind."""


class RandomReads:
    """The steps of one conversation about some objects of a resource.

    Parameters
    ----------
    resource
        One of ``KINDS``.
    seed
        The same seed gives the same steps.
    """

    def __init__(self, resource: str, seed: str) -> None:
        self._resource, self._random = resource, Random(seed)
        self._version, self._kind, self._rest, self._changes = KINDS[resource]
        root = "/api" if "/" not in self._version else "/apis"
        self._root = f"{root}/{self._version}"
        self._path = f"{self._root}/namespaces/{NAMESPACE}/{resource}"
        self._saved = 0
        self._present: set[str] = set()

    def steps(self, writes: int = 9, lists: int = 10, watches: int = 4) -> Iterator[Step]:
        """The requests in order: a namespace, writes with some lists between them, lists and watches."""
        yield OWN_NAMESPACE
        if self._resource == "widgets":
            yield {"method": "POST", "path": f"{_DEFINITIONS}", "body": _DEFINITION, "compare": "status"}
            yield {"method": "GET", "path": self._path, "retry": 40, "compare": "status"}
        yield self._saving({"method": "GET", "path": self._path, "compare": "status"})
        for _ in range(writes):
            yield self._saving(self._write())
            yield {"method": "GET", "path": self._path, "compare": "status"}  # the cache of kube-apiserver catches up
            if self._random.random() < 0.4:
                yield self._list()
        for _ in range(lists):
            yield self._list()
        for _ in range(watches):
            yield self._watch()

    def _list(self) -> Step:
        """A list, perhaps a page, whose place to go on is saved; or one that goes on from such a place."""
        choose = self._random.choice
        parts = [choose((*_SELECTORS, *_OF_KIND.get(self._resource, ())))]
        if self._random.random() < 0.6:
            parts.append(choose(("limit=1", "limit=1", "limit=2", "limit=0", "limit=100")))
        if self._random.random() < 0.25:
            parts.append("continue={{next}}")
            parts += [self._revision()] if self._random.random() < 0.2 else []
        elif self._random.random() < 0.6:
            parts += [self._revision(), choose(_MATCHES)]
        options = "&".join(filter(None, parts))
        accept = {"Accept": choose(ACCEPTS)}
        save = {"next": "metadata.continue"}
        return {"method": "GET", "path": f"{self._path}?{options}", "headers": accept, "save": save}

    def _revision(self) -> str:
        if self._random.random() < 0.7:
            return f"resourceVersion={{{{rv{self._random.randint(1, self._saved)}}}}}"
        return self._random.choice(_REVISIONS)

    def _saving(self, step: Step) -> Step:
        self._saved += 1
        return {**step, "save": {f"rv{self._saved}": "metadata.resourceVersion"}}

    def _write(self) -> Step:
        name = self._random.choice(_NAMES)
        place = f"{self._path}/{name}"
        if name not in self._present:
            self._present.add(name)
            meta = {"name": name, "namespace": NAMESPACE, "labels": self._random.choice(_LABELS)}
            body = {"apiVersion": self._version, "kind": self._kind, "metadata": meta, **self._rest}
            return {"method": "POST", "path": self._path, "body": body}
        choice = self._random.random()
        if choice < 0.2:
            self._present.discard(name)
            return {"method": "DELETE", "path": place, "body": {"gracePeriodSeconds": 0}}
        headers = {"Content-Type": "application/merge-patch+json"}
        if choice < 0.6:
            labels = dict.fromkeys(("a", "d")) | dict(self._random.choice(_LABELS))
            return {"method": "PATCH", "path": place, "headers": headers, "body": {"metadata": {"labels": labels}}}
        change = self._random.choice(self._changes)
        return {
            "method": "PATCH",
            "path": f"{place}/status" if "status" in change else place,
            "headers": headers,
            "body": change,
        }

    def _watch(self) -> Step:
        selectors = (*_SELECTORS, *_OF_KIND.get(self._resource, ()))
        parts = (self._random.choice(selectors), self._random.choice(_OPTIONS), self._revision())
        options = "&".join(part for part in ("watch=true", "timeoutSeconds=1", *parts) if part)
        accept = self._random.choice((*ACCEPTS, "application/json;stream=watch"))
        path = self._path
        if self._random.random() < 0.15:
            path = f"{self._path}/{self._random.choice(_NAMES)}"
            options = options.replace("watch=true&", "") if self._random.random() < 0.3 else options
        if self._random.random() < 0.15:
            path = path.replace(self._root, f"{self._root}/watch", 1)
        return {"method": "GET", "path": f"{path}?{options}", "headers": {"Accept": accept}}
