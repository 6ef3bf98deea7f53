"""Requests made of the table's templates: paths and bodies with their variables filled in, and containers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.escalation.table.requirement import Permission
from simkit.meta.domain import label
from simkit.meta.objects import Object, at
from simkit.schema.catalogue import Catalogue, Resource

_WORD: Final = re.compile(r"\{([a-z_]+)\}")
_ONE_WORD: Final = re.compile(r"^\{([a-z_]+)\}$")
_POD_LABELS: Final = {"app": "proof"}


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with each ``{word}`` replaced; a text that is only one word becomes the word's value.

    Raises
    ------
    KeyError
        For a word that nothing stands for.

    Examples
    --------
    >>> fill({"name": "{fresh}-1", "labels": "{labels}"}, {"fresh": "proof", "labels": {"a": "b"}})
    {'name': 'proof-1', 'labels': {'a': 'b'}}
    """
    if isinstance(template, str):
        alone = _ONE_WORD.match(template)
        return values[alone[1]] if alone else _WORD.sub(lambda found: str(values[found[1]]), template)
    if isinstance(template, Mapping):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill(value, values) for value in template]
    return template


def body_of(name: str | Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """A body of the table by name, filled in; workloads contain the pod's template."""
    if not isinstance(name, str):
        return fill(name, values)
    if name == "workload":
        return workload(values["resource"], values["fresh"], _pod_specification("pod", values))
    if name == "privileged-workload":
        return workload(values["resource"], values["fresh"], _pod_specification("privileged-pod", values))
    return fill(primitives().bodies[name], values)


def _pod_specification(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    specification: dict[str, Any] = fill(primitives().bodies[name], values)["spec"]
    return specification


def workload(resource: Resource, name: str, pod: Mapping[str, Any]) -> dict[str, Any]:
    """A workload of a resource with this pod specification."""
    template: dict[str, Any] = {"metadata": {"labels": _POD_LABELS}, "spec": dict(pod)}
    if resource.resource in ("jobs", "cronjobs"):
        template["spec"]["restartPolicy"] = "Never"
        spec: dict[str, Any] = {"template": template}
        if resource.resource == "cronjobs":
            spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    elif resource.resource == "replicationcontrollers":
        spec = {"selector": _POD_LABELS, "template": template}
    else:
        spec = {"selector": {"matchLabels": _POD_LABELS}, "template": template}
        if resource.resource == "statefulsets":
            spec["serviceName"] = name
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


def workload_change(resource: Resource, pod: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch that changes the pod specification of a workload."""
    change: dict[str, Any] = {"spec": {"template": {"spec": dict(pod)}}}
    return {"spec": {"jobTemplate": change}} if resource.resource == "cronjobs" else change


def resource_of(catalogue: Catalogue, permission: Permission) -> Resource | None:
    """The served resource of a permission, in its preferred version."""
    plural = permission.resource.partition("/")[0]
    for one in catalogue.resources(permission.group):
        if one.resource == plural:
            return one
    return None


def collection(resource: Resource, namespace: str) -> str:
    """The path of a resource's objects: of one namespace, or of the cluster."""
    scope = f"/namespaces/{namespace}" if resource.namespaced and namespace else ""
    return f"{resource.path}{scope}/{resource.resource}"


TOKEN_FILE: Final = f"/var/run/secrets/{label('serviceaccount')}/token"
_SOME_USER: Final = 65532


def debugger(pod: Object) -> dict[str, Any]:
    """A container that prints the token which is mounted in a pod, without a name; the restricted level allows it.

    Notes
    -----
    It runs as the user of the first container: where all containers have one user, the kubelet gives the file to it
    alone (kubernetes pkg/volume/projected, release 1.30).
    """
    first = at(pod, "spec", "containers", 0) or {}
    mounts = [one for one in first.get("volumeMounts") or () if TOKEN_FILE.startswith(f"{one.get('mountPath')}/")]
    user = at(first, "securityContext", "runAsUser") or at(pod, "spec", "securityContext", "runAsUser") or _SOME_USER
    return {
        "image": "registry.example/tools:1",
        "command": ["sh", "-c", f"cat {TOKEN_FILE}; sleep 86400"],
        "volumeMounts": mounts,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "runAsUser": user,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
