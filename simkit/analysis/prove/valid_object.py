"""An object that a server takes, around the fields that a claim is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.prove.symbols import Record
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.objects import Draft, Object
from simkit.schema.catalogue import Resource
from simkit.schema.structural import NO_DEFAULT, Schema

_PROBE: Final = {"exec": {"command": ["true"]}}
_OF_SECRET: Final = {"name": "a", "key": "a"}
_CONTAINER: Final = {
    "name": "c",
    "image": "example.com/image:v1",
    "ports?": [{"containerPort": 80}],
    **dict.fromkeys(("livenessProbe?", "readinessProbe?", "startupProbe?"), _PROBE),
    "lifecycle?": dict.fromkeys(("postStart?", "preStop?"), _PROBE),
    "env?": [{"name": "A", "valueFrom?": dict.fromkeys(("secretKeyRef?", "configMapKeyRef?"), _OF_SECRET)}],
    "envFrom?": [{key: {"name": "a"} for key in ("secretRef?", "configMapRef?")}],
    "volumeMounts?": [{"name": "v", "mountPath": "/a"}],
}
_POD: Final = {
    "containers": [_CONTAINER],
    "initContainers?": [{**_CONTAINER, "name": "i"}],
    "volumes?": [{"name": "v", "hostPath?": {"path": "/a"}}],
}
_ROLE: Final = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "view"}
_SUBJECT: Final = {"apiGroup": RBAC_GROUP, "kind": "User", "name": "a"}
_RULE: Final = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_BINDING: Final = {"roleRef": _ROLE, "subjects?": [_SUBJECT]}
_LABELS: Final = {"app": "proof"}
_WORKLOAD: Final = {
    "selector": {"matchLabels": _LABELS},
    "template": {"metadata": {"labels": _LABELS}, "spec": _POD},
}
_JOB: Final = {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
_BACKEND: Final = {"service": {"name": "a", "port": {"number": 80}}}
_PATH: Final = {"path": "/", "pathType": "Prefix", "backend": _BACKEND}
_STORAGE: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_PATTERNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Pod": {"spec": _POD},
    "Deployment": {"spec": _WORKLOAD},
    "ReplicaSet": {"spec": _WORKLOAD},
    "DaemonSet": {"spec": _WORKLOAD},
    "StatefulSet": {"spec": {**_WORKLOAD, "serviceName": "proof"}},
    "ReplicationController": {"spec": {"selector": _LABELS, "template": _WORKLOAD["template"]}},
    "PodTemplate": {"template": _WORKLOAD["template"]},
    "Job": {"spec": _JOB},
    "CronJob": {"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": _JOB}}},
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "Ingress": {"spec": {"defaultBackend": _BACKEND, "rules?": [{"http": {"paths": [_PATH]}}], "tls?": [{}]}},
    "PersistentVolumeClaim": {"spec": _STORAGE},
    "PersistentVolume": {
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
    },
    "HorizontalPodAutoscaler": {
        "spec": {"maxReplicas": 10, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}
    },
    "Role": {"rules?": [_RULE]},
    "ClusterRole": {"rules?": [_RULE]},
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
}
"""What objects of a kind need besides what their schemas require; a question mark: where they have the field at all.

Of a list, the element stands for each one.
"""
_EXAMPLES: Final = {"string": "a", "integer": 1, "number": 1.0, "boolean": True}


def valid_object(found: Object, root: Record, schema: Schema, resource: Resource) -> Draft:
    """An object with the found fields, and all that one of its kind needs besides.

    Parameters
    ----------
    found
        The fields that a claim is about.
    root
        The same fields, of which those count too that are found absent.
    schema
        The schema of the kind.
    resource
        What it is.
    """
    made = _completed(found, root, schema, _PATTERNS.get(resource.kind, {}))
    return {"apiVersion": resource.gvk.api_version, "kind": resource.kind, **made}


def _completed(found: Any, asked: Any, schema: Schema, pattern: Any) -> Any:
    """A part of the object: found values stay, absent ones stay absent, and the pattern gives the others."""
    if isinstance(found, Mapping) and schema.values is None:
        known = asked.fields if isinstance(asked, Record) else {}
        wanted = {name: value for name, value in _needed(pattern or {}).items() if name not in known}
        made = {**wanted, **found}
        for name in schema.required:
            if name not in made and name not in known:
                made[name] = _example(schema.fields[name])
        return {name: _field(name, value, known, schema, pattern, name in found) for name, value in made.items()}
    if isinstance(found, list) and schema.items is not None:
        each = pattern[0] if isinstance(pattern, list) and pattern else None
        slots = list(getattr(asked, "slots", ()))
        return [
            _numbered(
                _completed(value, slots[number].value if number < len(slots) else None, schema.items, each),
                number,
                value,
            )
            for number, value in enumerate(found)
        ]
    return found


def _needed(pattern: Any) -> Any:
    """A pattern without the fields that objects need not have."""
    if isinstance(pattern, list):
        return [_needed(each) for each in pattern]
    if not isinstance(pattern, Mapping):
        return pattern
    return {name: _needed(value) for name, value in pattern.items() if not name.endswith("?")}


def _field(name: str, value: Any, known: Mapping[str, Any], schema: Schema, pattern: Any, found: bool) -> Any:
    node = schema.fields.get(name)
    if node is None or not found:
        return value
    inner = pattern.get(name, pattern.get(f"{name}?")) if isinstance(pattern, Mapping) else None
    return _completed(value, known[name][1] if name in known else None, node, inner)


def _numbered(element: Any, number: int, found: Any) -> Any:
    """An element of a list under a name of its own, unless its name was found."""
    if isinstance(element, Mapping) and "name" in element and "name" not in found:
        return {**element, "name": f"{element['name']}{number}"}
    return element


def _example(node: Schema) -> Any:
    """Some value of a schema."""
    if node.default is not NO_DEFAULT and node.default not in ("", {}):
        return node.default
    if node.enum:
        return node.enum[0]
    if node.type == "array":
        return [_example(node.items)] if node.items is not None else []
    if node.type == "object":
        return {name: _example(node.fields[name]) for name in node.required if name in node.fields}
    checks: Mapping[str, Any] = node.row.get("checks", {})
    if node.type in ("integer", "number") and "minimum" in checks:
        return checks["minimum"]
    return _EXAMPLES.get(node.type, 1)
