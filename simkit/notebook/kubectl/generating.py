"""Objects that ``create KIND NAME`` makes of its flags, and the form in which kubectl prints them before they are sent.

Upstream: k8s.io/kubectl/pkg/cmd/create, release 1.32.
"""

from __future__ import annotations

import base64
import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.meta.domain import api_group, label
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.file_sources import data_of, key_pair
from simkit.notebook.kubectl.generating_access import binding, role
from simkit.notebook.kubectl.generating_traffic import ingress, service
from simkit.notebook.kubectl.heads import head

_BY_HAND: Final = label("instantiate", "cronjob")
_REGISTRY: Final = "https://index.docker.io/v1/"
_SHORT: Final = {
    "ns": "namespace",
    "cm": "configmap",
    "sa": "serviceaccount",
    "deploy": "deployment",
    "cj": "cronjob",
    "quota": "resourcequota",
    "pc": "priorityclass",
    "pdb": "poddisruptionbudget",
    "ing": "ingress",
    "svc": "service",
}
_ALWAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Namespace": {"spec": {}, "status": {}},
    "Pod": {"status": {}},
    "Job": {"status": {}},
    "CronJob": {"status": {}},
    "ResourceQuota": {"status": {}},
    "Deployment": {"status": {}},
    "Service": {"status": {"loadBalancer": {}}},
    "Ingress": {"status": {"loadBalancer": {}}},
    "HorizontalPodAutoscaler": {"status": {"currentReplicas": 0, "desiredReplicas": 0}},
    "ClusterRole": {"rules": None},
    "PodDisruptionBudget": {
        "status": dict.fromkeys(("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0)
    },
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


def described(client: Client, args: Namespace) -> dict[str, Any]:
    """The object of ``create KIND NAME`` with its flags."""
    if not args.words:
        raise KubectlError("error: must specify one of -f and -k")
    kind, *names = args.words
    kind = _SHORT.get(kind, kind)
    if kind in _PARTS:
        word, *names = names or [""]
        if word not in _PARTS[kind]:
            known = ", ".join(_PARTS[kind])
            raise KubectlError(f'error: unknown command "{" ".join([word, *names])}"; known: create {kind} {known}')
        args.part = word
    if kind not in _MADE and kind not in _ASKED:
        told = f"error: Unexpected args: [{' '.join(args.words)}]\nSee 'kubectl create -h' for help and examples"
        raise KubectlError(told)
    if len(names) != 1:
        line = " ".join(args.words[: 1 + (kind in _PARTS)])
        told = f"error: exactly one NAME is required, got {len(names)}"
        raise KubectlError(f"{told}\nSee 'kubectl create {line} -h' for help and examples")
    return _ASKED[kind](client, kind, names[0], args) if kind in _ASKED else _MADE[kind](names[0], args)


def _config_map(name: str, args: Namespace) -> dict[str, Any]:
    texts: dict[str, str] = {}
    others: dict[str, str] = {}
    for key, value in data_of(args, "ConfigMap", name).items():
        try:
            texts[key] = value.decode("utf-8")
        except UnicodeDecodeError:
            others[key] = base64.b64encode(value).decode()
    parts = {"data": texts, "binaryData": others}
    return {**head("v1", "ConfigMap", name), **{field: found for field, found in parts.items() if found}}


def _secret(name: str, args: Namespace) -> dict[str, Any]:
    if args.part == "docker-registry":
        values, kind = {".dockerconfigjson": _registry(args).encode()}, label("dockerconfigjson")
    elif args.part == "tls":
        values, kind = key_pair(args), label("tls")
    else:
        values, kind = data_of(args, "Secret", name), args.type
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}
    return {**head("v1", "Secret", name), **({"type": kind} if kind else {}), **({"data": data} if data else {})}


def _registry(args: Namespace) -> str:
    """The login of a registry as the client of containers keeps it."""
    user, password, server = args.docker_username, args.docker_password, args.docker_server
    if not (user and password):
        raise KubectlError(
            "error: either --from-file or the combination of --docker-username, --docker-password and "
            "--docker-server is required"
        )
    login = {"username": user, "password": password}
    login |= {"email": args.docker_email} if args.docker_email else {}
    login["auth"] = base64.b64encode(f"{user}:{password}".encode()).decode()
    return json.dumps({"auths": {server or _REGISTRY: login}}, separators=(",", ":"))


def _container(image: str, name: str, args: Namespace) -> dict[str, Any]:
    return {"name": name, "image": image, **({"command": list(args.after)} if args.after else {})}


def _deployment(name: str, args: Namespace) -> dict[str, Any]:
    _image(args)
    labels = {"app": name}
    ports = {"ports": [{"containerPort": int(args.port)}]} if args.port else {}
    containers = [_container(image, image.rpartition("/")[2].partition(":")[0], args) for image in args.image]
    containers[0] |= ports
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": int(args.replicas or 1), "selector": {"matchLabels": labels}, "template": template}
    return {**head("apps/v1", "Deployment", name, labels=labels), "spec": spec}


def _job(client: Client, kind: str, name: str, args: Namespace) -> dict[str, Any]:
    made = head("batch/v1", "Job", name)
    if args.from_ and not args.image:
        found = _cron_job_of(client, args.from_)
        data, template = found["metadata"], found["spec"]["jobTemplate"]
        own = template.get("metadata") or {}
        made["metadata"]["annotations"] = {_BY_HAND: "manual", **(own.get("annotations") or {})}
        made["metadata"] |= {"labels": own["labels"]} if own.get("labels") else {}
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": data["name"], "uid": data["uid"]}
        made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        return {**made, "spec": template["spec"]}
    if not args.image:
        raise KubectlError("error: either --image or --from must be specified")
    pod = {"containers": [_container(_image(args), name, args)], "restartPolicy": args.restart or "Never"}
    return {**made, "spec": {"template": {"spec": pod}}}


def _cron_job_of(client: Client, word: str) -> dict[str, Any]:
    kind, _, name = word.partition("/")
    resource = client.resource(kind)
    found: dict[str, Any] = client.ask("GET", client.path(resource, client.namespace, name)).object
    if resource.kind != "CronJob":
        raise KubectlError("error: from must be an existing cronjob")
    return found


def _cron_job(name: str, args: Namespace) -> dict[str, Any]:
    if not args.schedule:
        raise KubectlError('error: required flag(s) "schedule" not set')
    pod = {"containers": [_container(_image(args), name, args)], "restartPolicy": args.restart or "OnFailure"}
    job = {"metadata": {"name": name}, "spec": {"template": {"spec": pod}}}
    return {**head("batch/v1", "CronJob", name), "spec": {"schedule": args.schedule, "jobTemplate": job}}


def _image(args: Namespace) -> str:
    if not args.image:
        raise KubectlError('error: required flag(s) "image" not set')
    return str(args.image[0])


def _quota(name: str, args: Namespace) -> dict[str, Any]:
    pairs = (each.partition("=") for each in args.hard.split(",") if each)
    scopes = {"scopes": args.scopes.split(",")} if args.scopes else {}
    return {**head("v1", "ResourceQuota", name), "spec": {"hard": {key: text for key, _, text in pairs}, **scopes}}


def _priority_class(name: str, args: Namespace) -> dict[str, Any]:
    made = head(f"{api_group('scheduling')}/v1", "PriorityClass", name)
    told = {"description": args.description} if args.description else {}
    told |= {"globalDefault": True} if args.global_default == "true" else {}
    return {**made, **told, "value": int(args.value or 0), "preemptionPolicy": "PreemptLowerPriority"}


def _disruption_budget(name: str, args: Namespace) -> dict[str, Any]:
    given = {"minAvailable": args.min_available, "maxUnavailable": args.max_unavailable}
    amounts = {field: int(text) if text.isdecimal() else text for field, text in given.items() if text}
    if not args.selector:
        raise KubectlError("error: a selector must be specified")
    if not amounts:
        raise KubectlError("error: one of min-available or max-unavailable must be specified")
    if len(amounts) > 1:
        raise KubectlError("error: min-available and max-unavailable cannot be both specified")
    labels = dict(each.split("=", 1) for each in args.selector.split(",") if "=" in each)
    spec = {**amounts, "selector": {"matchLabels": labels}}
    return {**head("policy/v1", "PodDisruptionBudget", name), "spec": spec}


_MADE: Final[Mapping[str, Callable[[str, Namespace], dict[str, Any]]]] = {
    "configmap": _config_map,
    "cronjob": _cron_job,
    "deployment": _deployment,
    "poddisruptionbudget": _disruption_budget,
    "namespace": lambda name, _: head("v1", "Namespace", name),
    "priorityclass": _priority_class,
    "resourcequota": _quota,
    "secret": _secret,
    "serviceaccount": lambda name, _: head("v1", "ServiceAccount", name),
}
"""The kinds with a command of their own."""
_ASKED: Final[Mapping[str, Callable[[Client, str, str, Namespace], dict[str, Any]]]] = {
    "clusterrole": role,
    "clusterrolebinding": binding,
    "ingress": ingress,
    "job": _job,
    "role": role,
    "rolebinding": binding,
    "service": service,
}
"""Kinds whose command asks the server for something, or is one of several."""
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "secret": ("generic", "docker-registry", "tls"),
    "service": ("clusterip", "nodeport", "loadbalancer", "externalname"),
}
"""Kinds that have a further word before the name."""
