"""Defaulting of pod specs. Nothing is changed in place, since stored objects may share parts.

Follows ``pkg/apis/core/v1/defaults.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any, Final

from simkit.kinds.parts.pod.qos import HUGE, is_pod_resource, pod_limits, pod_requests
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft, Object, null_creation
from simkit.meta.podspec import NON_EPHEMERAL

_DOMAIN: Final = (
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
)
_PATH: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?P<name>(?:{_DOMAIN}(?::[0-9]+)?/)?{_PATH}(?:/{_PATH})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)


_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")
_LONGEST_NAME: Final = 255


def pull_policy(image: str) -> str:
    """Returns the default pull policy: Always for the tag ``latest`` or none, else IfNotPresent.

    Examples
    --------
    >>> [pull_policy(image) for image in ("nginx", "host:5000/nginx:latest", "nginx:1.2", "Not An Image", 238 * "a")]
    ['Always', 'Always', 'IfNotPresent', 'IfNotPresent', 'IfNotPresent']
    """
    match = _IMAGE.fullmatch(image)
    if match is None or not _is_name(match["name"]) or (match["digest"] and not match["tag"]):
        return "IfNotPresent"
    return "Always" if match["tag"] in (None, "latest") else "IfNotPresent"


def _is_name(name: str) -> bool:
    """True if a name is short enough, written out, and cannot be taken for the identifier of an image."""
    registry, slash, _ = name.partition("/")
    if not slash:
        return len(name) <= _LONGEST_NAME - len("docker.io/library/") and not _IDENTIFIER.fullmatch(name)
    elsewhere = "." in registry or ":" in registry or registry == "localhost"
    return len(name) <= _LONGEST_NAME - (0 if elsewhere else len("docker.io/"))


_MODE: Final = {"defaultMode": 420}
_SOURCES: Final[Mapping[str, Mapping[str, Any]]] = {
    "secret": _MODE,
    "configMap": _MODE,
    "downwardAPI": _MODE,
    "projected": _MODE,
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_TEXT_TOO: Final = frozenset({"iscsi", "rbd", "scaleIO"})
"""Sources in which empty fields equal absent ones."""
_TOKEN_SECONDS: Final = 3600


def defaulted_source(behaviour: ServedBehaviour, name: str, source: Object) -> Object:
    """The source of a volume, of the named type, with all defaults."""
    values = _SOURCES.get(name)
    found = source
    if values is not None:
        empty = (None, "") if name in _TEXT_TOO else (None,)
        missing = {key: value for key, value in values.items() if source.get(key) in empty}
        found = {**source, **missing} if missing else source
    if name == "projected":
        return replaced(found, "sources", lambda parts: each(parts, _projection))
    if name == "downwardAPI":
        return _downward(found)
    if name == "image" and not found.get("pullPolicy") and behaviour.applies("image-volumes"):
        return {**found, "pullPolicy": pull_policy(found.get("reference") or "")}
    if name == "ephemeral":
        return replaced(found, "volumeClaimTemplate", partial(_claim_template, behaviour))
    return found


def defaulted_volume(behaviour: ServedBehaviour, volume: Object) -> Object:
    """A volume with all defaults; without any source it becomes an empty directory."""
    if len(volume) <= 1 and volume.keys() <= {"name"}:
        return {**volume, "emptyDir": {}}
    found = volume
    for name, source in volume.items():
        if isinstance(source, Mapping):
            found = replaced(found, name, partial(defaulted_source, behaviour, name))
    return found


def _projection(part: Object) -> Object:
    token = part.get("serviceAccountToken")
    if token is not None and token.get("expirationSeconds") is None:
        part = {**part, "serviceAccountToken": {**token, "expirationSeconds": _TOKEN_SECONDS}}
    return replaced(part, "downwardAPI", _downward)


def _downward(source: Object) -> Object:
    return replaced(source, "items", lambda items: each(items, _file))


def _file(item: Object) -> Object:
    reference = item.get("fieldRef")
    if reference is None or reference.get("apiVersion"):
        return item
    return {
        **item,
        "fieldRef": {"apiVersion": "v1", **{key: reference[key] for key in reference if key != "apiVersion"}},
    }


def _claim_template(behaviour: ServedBehaviour, template: Object) -> Object:
    found = template if "metadata" in template else {"metadata": null_creation(behaviour), **template}
    spec = found.get("spec") or {}
    if spec.get("volumeMode") is not None:
        return found
    return {**found, "spec": {**spec, "volumeMode": "Filesystem"}}


_SPEC: Final[Mapping[str, Any]] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER: Final[Mapping[str, Any]] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_GRACE: Final = "terminationGracePeriodSeconds"
_PROBE: Final[Mapping[str, Any]] = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_LISTS: Final = (*NON_EPHEMERAL, "ephemeralContainers")

Change = Callable[[Any], Any]


def each(items: Sequence[Any], change: Change) -> Sequence[Any]:
    """The items after a change; the same list if nothing changed."""
    changed = [change(item) for item in items]
    return items if all(map(is_, changed, items)) else changed


def filled(obj: Object, values: Mapping[str, Any]) -> Object:
    """The object with defaults for missing (or empty) values; the same object if it has all."""
    missing = {name: value for name, value in values.items() if not obj.get(name) and obj.get(name) != value}
    return {**obj, **missing} if missing else obj


def replaced(obj: Object, name: str, change: Change) -> Object:
    """The object with one field changed; the same object if the field is absent or unchanged."""
    value = obj.get(name)
    if value is None:
        return obj
    new = change(value)
    return obj if new is value else {**obj, name: new}


def defaulted_spec(behaviour: ServedBehaviour, spec: Object) -> Object:
    """A pod spec with all defaults that do not depend on the kind around it."""
    found = spec
    missing: Draft = {
        name: {} if value == {} else value  # a mapping of its own, since others may fill it
        for name, value in _SPEC.items()
        if found.get(name) is None or (found[name] == "" and isinstance(value, str))
    }
    if missing:
        found = {**found, **missing}
    account = found.get("serviceAccountName") or found.get("serviceAccount")
    if account and not (found.get("serviceAccountName") == found.get("serviceAccount") == account):
        found = {**found, "serviceAccountName": account, "serviceAccount": account}
    for name in _LISTS:
        if name in found:
            found = replaced(found, name, lambda items: each(items, defaulted_container))
    if "volumes" not in found:
        return found
    return replaced(found, "volumes", lambda items: each(items, partial(defaulted_volume, behaviour)))


def defaulted_template(behaviour: ServedBehaviour, template: Object) -> Object:
    """A pod template with its spec defaulted."""
    found = template if "metadata" in template else {"metadata": null_creation(behaviour), **template}
    spec = found.get("spec") or {}
    new = defaulted_spec(behaviour, spec)
    return found if new is found.get("spec") else {**found, "spec": new}


def default_template(behaviour: ServedBehaviour, spec: Draft) -> None:
    """Set the defaults in the ``template`` of a workload's spec, if there is one."""
    if spec.get("template") is not None:
        spec["template"] = defaulted_template(behaviour, spec["template"])


def defaulted_container(container: Object) -> Object:
    """A container with all defaults."""
    missing: Draft = {name: value for name, value in _CONTAINER.items() if not container.get(name)}
    if container.get("resources") is None:
        missing["resources"] = {}
    if not container.get("imagePullPolicy"):
        missing["imagePullPolicy"] = pull_policy(container.get("image") or "")
    found: Object = {**container, **missing} if missing else container
    if "ports" in found:
        found = replaced(found, "ports", lambda items: each(items, lambda port: filled(port, {"protocol": "TCP"})))
    if "env" in found:
        found = replaced(found, "env", _environment)
    if "lifecycle" in found:
        found = replaced(found, "lifecycle", _lifecycle)
    for name in _PROBES:
        if name in found:
            found = replaced(found, name, defaulted_probe)
    return found


def _environment(items: Sequence[Object]) -> Sequence[Object]:
    return each(items, lambda item: replaced(item, "valueFrom", _value_source) if "valueFrom" in item else item)


def _value_source(source: Object) -> Object:
    found = with_field_version(source)
    if found.get("fileKeyRef") is None:
        return found
    return replaced(found, "fileKeyRef", lambda key: key if "optional" in key else {**key, "optional": False})


def with_field_version(holder: Object) -> Object:
    """The holder of a ``fieldRef`` with the reference's apiVersion defaulted."""
    return replaced(holder, "fieldRef", lambda reference: filled(reference, {"apiVersion": "v1"}))


def _lifecycle(lifecycle: Object) -> Object:
    return replaced(replaced(lifecycle, "postStart", _handler), "preStop", _handler)


def _handler(handler: Object) -> Object:
    return replaced(handler, "httpGet", lambda action: filled(action, {"path": "/", "scheme": "HTTP"}))


def defaulted_probe(probe: Object) -> Object:
    """A probe with its timing defaulted."""
    found = filled(_handler(probe), _PROBE)
    return replaced(
        found, "grpc", lambda action: {**action, "service": ""} if action.get("service") is None else action
    )


def default_pod_only(behaviour: ServedBehaviour, spec: Object) -> Object:
    """A pod spec with the defaults of pods that do not apply to pod templates."""
    found: Object = {**spec, "enableServiceLinks": True} if spec.get("enableServiceLinks") is None else spec
    if (found.get(_GRACE) or 0) < 0 and behaviour.applies("negative-grace-is-one"):
        found = {**found, _GRACE: 1}
    host = bool(found.get("hostNetwork"))
    for name in NON_EPHEMERAL:
        if name in found:
            found = replaced(found, name, lambda items: each(items, lambda one: _placed(one, host)))
    if found.get("resources") is not None and behaviour.applies("pod-level-resources"):
        found = {**found, "resources": _pod_resources(found)}
    return found


def _pod_resources(spec: Object) -> Object:
    """The resources of the pod itself: limits of huge pages, and then requests, follow from what containers ask for."""
    resources, inner = spec["resources"], {"spec": {**spec, "resources": None}}
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    if not limits and not requests:
        found: Object = resources
        return found
    for name, amount in pod_limits(inner).items():
        if name.startswith(HUGE) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        for name, amount in pod_requests(inner).items():
            if is_pod_resource(name) and not name.startswith(HUGE):
                requests.setdefault(name, str(amount))
        for name, text in limits.items():
            if is_pod_resource(name):
                requests.setdefault(name, text)
    sides = (("limits", limits), ("requests", requests))
    return {**resources, **{side: amounts for side, amounts in sides if amounts}}


def _placed(container: Object, host: bool) -> Object:
    found = replaced(container, "resources", _requested) if container.get("resources") else container
    return replaced(found, "ports", _on_host) if host and "ports" in found else found


def _requested(resources: Object) -> Object:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    missing = {name: amount for name, amount in limits.items() if name not in requests}
    return {**resources, "requests": {**requests, **missing}} if missing else resources


def _on_host(ports: Sequence[Object]) -> Sequence[Object]:
    return each(
        ports, lambda port: port if port.get("hostPort") else {**port, "hostPort": port.get("containerPort") or 0}
    )
