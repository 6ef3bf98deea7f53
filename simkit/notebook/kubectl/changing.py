"""kubectl set, and rollout restart, pause and resume: changes of workloads by their template.

Upstream: k8s.io/kubectl/pkg/cmd/set and k8s.io/kubectl/pkg/cmd/rollout, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.meta.objects import at
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.environment import env_lines
from simkit.notebook.kubectl.selection import Selected, selected, title
from simkit.notebook.kubectl.subjects import set_selector, set_subject
from simkit.notebook.kubectl.writing import query_of, said

_STRATEGIC: Final = "application/strategic-merge-patch+json"
_RESTARTED: Final = label("restartedAt", "kubectl")


def set_fields(client: Client, args: Namespace) -> str:
    """``set image``, ``set env``, ``set resources`` and ``set serviceaccount`` of workloads, and what others set."""
    if not args.words or args.words[0] not in (*_SETTERS, *_OTHERS):
        raise KubectlError(f"error: what to set? known: {', '.join((*_SETTERS, *_OTHERS))}")
    word, words = args.words[0], args.words[1:]
    if word in _OTHERS:
        return _OTHERS[word](client, args, words)
    if word == "env" and args.list:
        return env_lines(client, args, words)
    made, told = _SETTERS[word]
    kinds, changes = _parted(words, word)
    done = []
    for one in _named(client, kinds):
        path = client.path(one.resource, client.namespace, one.name)
        live = client.ask("GET", path).object
        pod = made(live, changes, args)
        whole = {"spec": pod if live["kind"] == "Pod" else {"template": {"spec": pod}}}
        answer = client.ask("PATCH", path, whole, query=query_of(args, fieldManager="kubectl-set"), media=_STRATEGIC)
        same = live["metadata"]["resourceVersion"] == answer.object["metadata"]["resourceVersion"]
        if not same or word != "image":
            done.append((title(one.resource, one.name), told, answer.object))
    return said(args, done)


def _parted(words: Sequence[str], word: str) -> tuple[list[str], list[str]]:
    """The words that name objects, and those that say what is to change."""
    changes = [each for each in words if "=" in each or (word == "env" and each.endswith("-"))]
    kinds = [each for each in words if each not in changes]
    if word == "serviceaccount":
        kinds, changes = kinds[:-1], kinds[-1:]
    return kinds, changes


def _named(client: Client, words: Sequence[str]) -> list[Selected]:
    found = selected(client, list(words))
    if any(not one.name for one in found):
        raise KubectlError("error: name the object: KIND/NAME")
    return found


def _containers(live: Mapping[str, Any], args: Namespace) -> list[str]:
    """The names of the containers that are meant: that of ``-c``, or all."""
    path = ("spec",) if live["kind"] == "Pod" else ("spec", "template", "spec")
    names = [each["name"] for each in at(live, *path, "containers") or ()]
    chosen = [name for name in names if args.container in ("", "*", name)]
    if not chosen:
        name = live["metadata"]["name"]
        raise KubectlError(f'error: unable to find container named "{args.container}" in {live["kind"].lower()} {name}')
    return chosen


def _images(live: Mapping[str, Any], changes: Sequence[str], args: Namespace) -> dict[str, Any]:
    if not changes:
        raise KubectlError("error: at least one image update is required")
    known, made = _containers(live, args), []
    for name, _, image in (each.partition("=") for each in changes):
        if name not in known and name != "*":
            raise KubectlError(f'error: unable to find container named "{name}"')
        made += [{"name": each, "image": image} for each in (known if name == "*" else [name])]
    return {"containers": made}


def _environment(live: Mapping[str, Any], changes: Sequence[str], args: Namespace) -> dict[str, Any]:
    if not changes:
        raise KubectlError("error: at least one environment variable must be provided")
    env: list[dict[str, str]] = []
    for each in changes:
        name, equals, text = each.partition("=")
        env.append({"name": name, "value": text} if equals else {"name": each[:-1], "$patch": "delete"})
    return {"containers": [{"name": name, "env": env} for name in _containers(live, args)]}


def _resources(live: Mapping[str, Any], changes: Sequence[str], args: Namespace) -> dict[str, Any]:
    given = {"limits": _amounts(args.limits), "requests": _amounts(args.requests)}
    wanted = {field: amounts for field, amounts in given.items() if amounts}
    if not wanted:
        raise KubectlError(
            "error: you must specify an update to requests or limits (in the form of --requests/--limits)"
        )
    return {"containers": [{"name": name, "resources": wanted} for name in _containers(live, args)]}


def _amounts(text: str) -> dict[str, str]:
    return {name: amount for name, _, amount in (each.partition("=") for each in text.split(",") if each)}


def _account(live: Mapping[str, Any], changes: Sequence[str], args: Namespace) -> dict[str, Any]:
    return {"serviceAccountName": changes[0], "serviceAccount": changes[0]}


_Setter = Callable[[Mapping[str, Any], Sequence[str], Namespace], dict[str, Any]]
_SETTERS: Final[Mapping[str, tuple[_Setter, str]]] = {
    "image": (_images, "image updated"),
    "env": (_environment, "env updated"),
    "resources": (_resources, "resource requirements updated"),
    "serviceaccount": (_account, "serviceaccount updated"),
}
"""The pod's part of a patch for each word after ``set``, and how it is told."""
_OTHERS: Final = {"selector": set_selector, "subject": set_subject}
"""Words after ``set`` that change no pods."""


def restart(client: Client, args: Namespace) -> str:
    """``rollout restart``: a new annotation of the template, so that all pods are made anew."""
    _check_kind(client, args, ("Deployment", "StatefulSet", "DaemonSet"), "restarting")
    now = timestamp(client.cluster.engine.clock.now())
    patch = {"spec": {"template": {"metadata": {"annotations": {_RESTARTED: now}}}}}
    return _patched(client, args, patch, "restarted")


def pause(client: Client, args: Namespace) -> str:
    """``rollout pause`` of deployments."""
    return _switched(client, args, paused=True)


def resume(client: Client, args: Namespace) -> str:
    """``rollout resume`` of deployments."""
    return _switched(client, args, paused=False)


def _check_kind(client: Client, args: Namespace, kinds: Sequence[str], word: str) -> None:
    """Raise KubectlError for objects of other kinds."""
    for one in _named(client, args.words):
        if one.resource.kind not in kinds:
            raise KubectlError(f'error: {one.resource.group_resource} "{one.name}" {word} is not supported')


def _switched(client: Client, args: Namespace, *, paused: bool) -> str:
    _check_kind(client, args, ("Deployment",), "pausing" if paused else "resuming")
    for one in _named(client, args.words):
        live = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
        if bool(at(live, "spec", "paused")) is paused:
            word = "already paused" if paused else "not paused"
            raise KubectlError(f'error: {one.resource.group_resource} "{one.name}" is {word}')
    return _patched(client, args, {"spec": {"paused": paused or None}}, "paused" if paused else "resumed")


def _patched(client: Client, args: Namespace, patch: dict[str, Any], word: str) -> str:
    done = []
    for one in _named(client, args.words):
        path = client.path(one.resource, client.namespace, one.name)
        query = query_of(args, fieldManager="kubectl-rollout")
        answer = client.ask("PATCH", path, patch, query=query, media=_STRATEGIC).object
        done.append((title(one.resource, one.name), word, answer))
    return said(args, done)
