"""A server of a few lines around the merge language: enough to replay recorded writes without the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

import orjson
import yaml

from simkit.language.merge.apply import apply
from simkit.language.merge.fieldset import EMPTY, Fields, of_paths
from simkit.language.merge.jsonpatch import checked_json_patch, json_patch
from simkit.language.merge.managedfields import parent_records, scale_records
from simkit.language.merge.mergepatch import checked_merge_patch, merge_patch
from simkit.language.merge.strategic import checked_strategic_patch, strategic_merge
from simkit.language.merge.update import manager_from_user_agent, track_update, with_old_times
from simkit.meta.errors import StatusError, already_exists, not_found
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind
from simkit.meta.objects import copied, with_metadata
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import decode
from simkit.schema.structural import Schema
from tests.releases import BASE

CATALOGUE = Catalogue.for_release("1.30")
_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[^/]+))?"
)
Draft = dict[str, Any]


def schema_of_crd(version: Mapping[str, Any]) -> Schema:
    """The schema of a custom resource, as its definition writes it."""
    row = _row(version["schema"]["openAPIV3Schema"])
    meta = CATALOGUE.definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    fields = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"ref": "ObjectMeta"}}
    return Schema({**row, "fields": {**row.get("fields", {}), **fields}}, lambda name: meta)


def _row(properties: Mapping[str, Any]) -> Draft:
    names = {
        "x-kubernetes-list-type": "listType",
        "x-kubernetes-list-map-keys": "listMapKeys",
        "x-kubernetes-map-type": "mapType",
        "x-kubernetes-preserve-unknown-fields": "preserveUnknown",
        "x-kubernetes-int-or-string": "intOrString",
    }
    row: Draft = {names[name]: value for name, value in properties.items() if name in names}
    row |= {name: properties[name] for name in ("type", "format", "default") if name in properties}
    if "properties" in properties:
        row["fields"] = {name: _row(each) for name, each in properties["properties"].items()}
    if "items" in properties:
        row["items"] = _row(properties["items"])
    if isinstance(properties.get("additionalProperties"), dict):
        row["values"] = _row(properties["additionalProperties"])
    return row


class Replica:
    """Objects by path, and the writes that the merge language decides about."""

    def __init__(self) -> None:
        self.objects: dict[str, Draft] = {}
        self.customs: dict[tuple[str, str], tuple[str, Schema]] = {}
        self._count = 0

    def perform(self, step: Mapping[str, Any]) -> tuple[int, Any]:
        """The status and the body of the answer to one recorded step."""
        path, _, query = step["path"].partition("?")
        found = _PATH.fullmatch(path)
        assert found is not None, path
        options = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        try:
            return _Write(self, found.groupdict(default=""), options, step).answer()
        except StatusError as refusal:
            return refusal.code, refusal.status()

    def uid(self) -> str:
        self._count += 1
        return f"uid-{self._count}"


class _Write:
    def __init__(self, replica: Replica, where: Mapping[str, str], options: Mapping[str, str], step: Any) -> None:
        self.replica, self.where, self.options, self.step = replica, where, options, step
        headers = {name.lower(): value for name, value in (step.get("headers") or {}).items()}
        self.media = headers.get("content-type", "application/json").partition(";")[0]
        self.agent = headers.get("user-agent", "replay/1")
        self.group_version = GroupVersion(where["group"], where["version"])
        self.scale = where["subresource"] == "scale"
        self.kind, self.schema = self._kind()
        self.resource = GroupResource(where["group"], where["resource"])
        self.status = where["subresource"] == "status"

    def _kind(self) -> tuple[str, Schema]:
        where = self.where
        if self.scale:
            self.group_version = GroupVersion("autoscaling", "v1")
            return "Scale", CATALOGUE.schema(GroupVersionKind("autoscaling", "v1", "Scale"))
        custom = self.replica.customs.get((where["group"], where["resource"]))
        if custom:
            return custom
        resource = CATALOGUE.find(where["group"], where["version"], where["resource"])
        assert resource is not None, where
        return resource.kind, CATALOGUE.schema(GroupVersionKind(*self.group_version, resource.kind))

    def answer(self) -> tuple[int, Any]:
        method = self.step["method"]
        if method == "POST":
            return self._create()
        key = self._key(unquote(self.where["name"]))
        live = self.replica.objects.get(key)
        if method == "GET":
            return 200, self._found(live)
        if method == "DELETE":
            return 200, self.replica.objects.pop(key)
        if self.where["subresource"]:
            self._found(live)
        if self.scale:
            return 200, self._scaled(key, self._found(live))
        return (200 if live else 201), self._store(key, live, self._written(live))

    def _written(self, live: Draft | None) -> Draft:
        return self._tracked(live, self._put(live)) if self.step["method"] == "PUT" else self._patch(live)

    def _scaled(self, key: str, parent: Draft) -> Draft:
        """A write through the scale of an object."""
        paths = {parent["apiVersion"]: ("f:spec", "f:replicas")}
        records = parent["metadata"].get("managedFields", ())
        metadata = {**parent["metadata"], "managedFields": scale_records(records, paths)}
        replicas = parent["spec"]["replicas"]
        shown = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata}
        labels = parent["spec"]["selector"]["matchLabels"]
        status = {"replicas": 0, "selector": ",".join(f"{name}={value}" for name, value in labels.items())}
        scale = self._written({**shown, "spec": {"replicas": replicas} if replicas else {}, "status": status})
        after = scale["metadata"].get("managedFields", ())
        new = parent_records(records, after, paths, api_version=parent["apiVersion"])
        wanted = {**parent, "spec": {**parent["spec"], "replicas": scale["spec"].get("replicas", 0)}}
        self.replica.objects[key] = with_metadata(wanted, managedFields=new or None)
        return with_metadata(scale, managedFields=None)

    def _found(self, live: Draft | None) -> Draft:
        if live is None:
            raise not_found(self.resource, self.where["name"])
        return live

    def _key(self, name: str) -> str:
        return f"{self.where['group']}/{self.where['resource']}/{self.where['namespace']}/{name}"

    def _create(self) -> tuple[int, Any]:
        body = self._settled(self._body())
        if self.kind == "CustomResourceDefinition":
            spec = body["spec"]
            custom = spec["names"]["kind"], schema_of_crd(spec["versions"][0])
            self.replica.customs[spec["group"], spec["names"]["plural"]] = custom
        key = self._key(body["metadata"]["name"])
        if key in self.replica.objects:
            raise already_exists(self.resource, body["metadata"]["name"])
        return 201, self._store(key, None, self._tracked(None, body))

    def _body(self) -> Any:
        body = self.step.get("body")
        return yaml.safe_load(body) if isinstance(body, str) else copied(body)

    def _put(self, live: Draft | None) -> Draft:
        body = self._settled(self._body())
        return self._kept(live, body) if live else body

    def _kept(self, live: Draft, wanted: Draft) -> Draft:
        for name in ("uid", "creationTimestamp", "namespace"):
            if name in live["metadata"]:
                wanted["metadata"][name] = live["metadata"][name]
        if self.status:
            metadata = {**live["metadata"], "managedFields": wanted["metadata"].get("managedFields")}
            wanted = {**live, "status": wanted.get("status") or {}, "metadata": metadata}
        elif "status" in live:
            wanted["status"] = live["status"]
        return wanted

    def _patch(self, live: Draft | None) -> Draft:
        if self.media == "application/apply-patch+yaml":
            return self._apply(live)
        assert live is not None
        return self._tracked(live, self._settled(self._patched(live)))

    def _patched(self, live: Draft) -> Any:
        patch = self.step["body"]
        patch = orjson.loads(patch) if isinstance(patch, str) else copied(patch)
        changes: Mapping[str, Callable[[], Any]] = {
            "application/merge-patch+json": lambda: merge_patch(live, checked_merge_patch(patch)),
            "application/json-patch+json": lambda: json_patch(live, checked_json_patch(patch)),
            "application/strategic-merge-patch+json": lambda: strategic_merge(
                BASE, live, checked_strategic_patch(patch), self.schema
            ),
        }
        return changes[self.media]()

    def _apply(self, live: Draft | None) -> Draft:
        result = apply(
            BASE,
            live,
            self._body() or {},
            self.schema,
            manager=self.options["fieldManager"],
            force=self.options.get("force", "false") not in ("false", "0"),
            api_version=str(self.group_version),
            time=self.time,
            subresource=self.where["subresource"],
            kind=self.kind,
            reset_fields=self._reset(),
        )
        settled = self._settled(result)
        return with_metadata(self._kept(live, settled)) if live else settled

    def _tracked(self, live: Draft | None, wanted: Draft) -> Draft:
        records = track_update(
            BASE,
            live,
            wanted,
            self.schema,
            manager=self.options.get("fieldManager") or manager_from_user_agent(self.agent),
            api_version=str(self.group_version),
            time=self.time,
            subresource=self.where["subresource"],
            reset_fields=self._reset(),
        )
        if live:
            wanted = self._kept(live, wanted)
        return with_metadata(wanted, managedFields=records or None)

    @property
    def time(self) -> str:
        return self.step["time"]  # type: ignore[no-any-return]

    def _reset(self) -> Fields:
        if self.scale or "status" not in self.schema.fields:
            return EMPTY
        return of_paths(("f:metadata",), ("f:spec",)) if self.status else of_paths(("f:status",))

    def _settled(self, body: Any) -> Draft:
        draft = decode(BASE, body, self.schema).object
        if body.get("metadata", {}).get("managedFields") == []:
            draft["metadata"]["managedFields"] = []
        draft["metadata"].pop("creationTimestamp", None)
        if self.where["namespace"]:
            draft["metadata"]["namespace"] = self.where["namespace"]
        if self.kind in _DEFAULTS:
            _DEFAULTS[self.kind](draft)
        return draft

    def _store(self, key: str, live: Draft | None, wanted: Draft) -> Draft:
        wanted = dict(with_old_times(live, wanted))
        if live is None:
            wanted = with_metadata(wanted, uid=self.replica.uid())
        self.replica.objects[key] = wanted
        return wanted


def _default_pod(spec: Draft) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    for container in spec.get("containers") or []:
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        container.setdefault("imagePullPolicy", "IfNotPresent")
        for port in container.get("ports") or []:
            port.setdefault("protocol", "TCP")
    for volume in spec.get("volumes") or []:
        if "secret" in volume:
            volume["secret"].setdefault("defaultMode", 420)
        if "hostPath" in volume:
            volume["hostPath"].setdefault("type", "")


def _default_deployment(draft: Draft) -> None:
    spec = draft["spec"]
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    _default_pod(spec["template"]["spec"])


def _default_service(draft: Draft) -> None:
    spec = draft["spec"]
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    spec.setdefault("internalTrafficPolicy", "Cluster")
    for port in spec.get("ports") or []:
        port.setdefault("protocol", "TCP")
        port["targetPort"] = port.get("targetPort") or port["port"]


_DEFAULTS: Mapping[str, Callable[[Draft], None]] = {"Deployment": _default_deployment, "Service": _default_service}
