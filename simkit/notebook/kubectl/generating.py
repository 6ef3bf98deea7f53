"""Objects that ``create KIND NAME`` makes of its flags, and the form in which kubectl prints them before they are sent.

Upstream: k8s.io/kubectl/pkg/cmd/create, release 1.32.
"""

from __future__ import annotations

import base64
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.meta.domain import RBAC_GROUP
from simkit.notebook.kubectl.client import KubectlError

_RBAC: Final = f"{RBAC_GROUP}/v1"
_SHORT: Final = {
    "ns": "namespace",
    "cm": "configmap",
    "sa": "serviceaccount",
    "deploy": "deployment",
    "cj": "cronjob",
    "quota": "resourcequota",
    "pc": "priorityclass",
}
_ALWAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Namespace": {"spec": {}, "status": {}},
    "Pod": {"status": {}},
    "Job": {"status": {}},
    "CronJob": {"status": {}},
    "ResourceQuota": {"status": {}},
    "Deployment": {"status": {}},
    "Service": {"status": {"loadBalancer": {}}},
}
"""Fields that Go writes although they are empty."""


def typed(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object as kubectl prints it before it is sent: with the empty fields that its types always write."""
    made = {**_ALWAYS.get(obj["kind"], {}), **_timeless(obj)}
    if obj["kind"] == "Deployment":
        made["spec"] = {"strategy": {}, **made["spec"]}
    return made


def _timeless(value: Any) -> Any:
    """The value with an empty creation timestamp in all metadata, and empty resources in all containers."""
    if isinstance(value, list):
        return [_timeless(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    made = {key: _timeless(each) for key, each in value.items()}
    if "metadata" in made:
        made["metadata"] = {"creationTimestamp": None, **made["metadata"]}
    if "template" in made or "jobTemplate" in made:
        key = "template" if "template" in made else "jobTemplate"
        made[key] = {"metadata": {"creationTimestamp": None}, **made[key]}
    if "containers" in made:
        made["containers"] = [{"resources": {}, **each} for each in made["containers"]]
    return made


def described(args: Namespace) -> dict[str, Any]:
    """The object of ``create KIND NAME`` with its flags."""
    if len(args.words) < 2:
        raise KubectlError("error: must specify one of -f and -k")
    kind, name = _SHORT.get(args.words[0], args.words[0]), args.words[-1]
    if kind in ("role", "clusterrole"):
        return _role(kind, name, args)
    if kind in ("rolebinding", "clusterrolebinding"):
        return _binding(kind, name, args)
    if kind not in _MADE:
        raise KubectlError(f'error: unknown kind "{kind}" for create; use -f')
    return _MADE[kind](name, args)


def _head(version: str, kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}


def _config_map(name: str, args: Namespace) -> dict[str, Any]:
    literals = _literals(args)
    return {**_head("v1", "ConfigMap", name), **({"data": literals} if literals else {})}


def _secret(name: str, args: Namespace) -> dict[str, Any]:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in _literals(args).items()}
    given = {"type": args.type} if args.type else {}
    return {**_head("v1", "Secret", name), **given, **({"data": data} if data else {})}


def _literals(args: Namespace) -> dict[str, str]:
    pairs = [each.partition("=") for each in args.from_literal]
    return {name: value for name, _, value in pairs}


def _container(image: str, name: str, args: Namespace) -> dict[str, Any]:
    return {"name": name, "image": image, **({"command": list(args.after)} if args.after else {})}


def _deployment(name: str, args: Namespace) -> dict[str, Any]:
    labels = {"app": name}
    containers = [_container(image, image.rpartition("/")[2].partition(":")[0], args) for image in args.image]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": int(args.replicas or 1), "selector": {"matchLabels": labels}, "template": template}
    return {**_head("apps/v1", "Deployment", name, labels=labels), "spec": spec}


def _job(name: str, args: Namespace) -> dict[str, Any]:
    pod = {"containers": [_container(_image(args), name, args)], "restartPolicy": args.restart or "Never"}
    return {**_head("batch/v1", "Job", name), "spec": {"template": {"spec": pod}}}


def _cron_job(name: str, args: Namespace) -> dict[str, Any]:
    if not args.schedule:
        raise KubectlError('error: required flag(s) "schedule" not set')
    pod = {"containers": [_container(_image(args), name, args)], "restartPolicy": args.restart or "OnFailure"}
    job = {"metadata": {"name": name}, "spec": {"template": {"spec": pod}}}
    return {**_head("batch/v1", "CronJob", name), "spec": {"schedule": args.schedule, "jobTemplate": job}}


def _image(args: Namespace) -> str:
    if not args.image:
        raise KubectlError('error: required flag(s) "image" not set')
    return str(args.image[0])


def _quota(name: str, args: Namespace) -> dict[str, Any]:
    pairs = (each.partition("=") for each in args.hard.split(",") if each)
    return {**_head("v1", "ResourceQuota", name), "spec": {"hard": {key: text for key, _, text in pairs}}}


def _priority_class(name: str, args: Namespace) -> dict[str, Any]:
    head = _head("scheduling.k8s.io/v1", "PriorityClass", name)
    return {**head, "value": int(args.value or 0), "preemptionPolicy": "PreemptLowerPriority"}


def _role(kind: str, name: str, args: Namespace) -> dict[str, Any]:
    groups: dict[str, list[str]] = {}
    for word in (part for each in args.resource for part in each.split(",")):
        resource, _, group = word.partition(".")
        groups.setdefault(group, []).append(resource)
    verbs = [part for each in args.verb for part in each.split(",")]
    names = {"resourceNames": list(args.resource_name)} if args.resource_name else {}
    rules = [{"apiGroups": [group], "resources": each, **names, "verbs": verbs} for group, each in groups.items()]
    shown = "Role" if kind == "role" else "ClusterRole"
    return {**_head(_RBAC, shown, name), "rules": rules}


def _binding(kind: str, name: str, args: Namespace) -> dict[str, Any]:
    role = ("ClusterRole", args.clusterrole) if args.clusterrole else ("Role", args.role)
    subjects: list[dict[str, str]] = []
    for word, names in (("User", args.user), ("Group", args.group)):
        subjects += [{"kind": word, "apiGroup": RBAC_GROUP, "name": each} for each in names]
    for account in args.serviceaccount:
        namespace, _, own = account.partition(":")
        subjects.append({"kind": "ServiceAccount", "namespace": namespace, "name": own})
    shown = "RoleBinding" if kind == "rolebinding" else "ClusterRoleBinding"
    reference = {"apiGroup": RBAC_GROUP, "kind": role[0], "name": role[1]}
    return {**_head(_RBAC, shown, name), "roleRef": reference, "subjects": subjects}


_MADE: Final[Mapping[str, Callable[[str, Namespace], dict[str, Any]]]] = {
    "configmap": _config_map,
    "cronjob": _cron_job,
    "deployment": _deployment,
    "job": _job,
    "namespace": lambda name, _: _head("v1", "Namespace", name),
    "priorityclass": _priority_class,
    "resourcequota": _quota,
    "secret": _secret,
    "serviceaccount": lambda name, _: _head("v1", "ServiceAccount", name),
}
"""The kinds with a command of their own."""
