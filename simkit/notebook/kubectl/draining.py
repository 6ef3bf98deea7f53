"""kubectl drain: a node closed to new pods, and its pods evicted.

Upstream: k8s.io/kubectl/pkg/cmd/drain and k8s.io/kubectl/pkg/drain, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from simkit.meta.domain import MIRROR_POD
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.objects import at, controller_of
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.making import cordon
from simkit.notebook.kubectl.selection import named
from simkit.notebook.kubectl.waiting import comes, seconds_of
from simkit.notebook.kubectl.writing import query_of

_DAEMONS: Final = "DaemonSet-managed Pods"
_LOCAL: Final = "Pods with local storage"
_UNMANAGED: Final = "Pods that declare no controller"
_FLAGS: Final = {
    _DAEMONS: "ignore-daemonsets to ignore",
    _LOCAL: "delete-emptydir-data to override",
    _UNMANAGED: "force to override",
}
"""The flag that each sort of pods needs, and what it does."""
_ENDED: Final = ("Succeeded", "Failed")
_PATIENCE: Final = 300.0
"""Seconds of the clock after which a pod that does not end is given up."""
Pods = Sequence[Mapping[str, Any]]


def drain(client: Client, args: Namespace) -> str:
    """A line for each step: nodes closed, pods evicted, nodes drained.

    On a simulated clock the clock is turned until the pods are gone. Raises KubectlError if pods are in the way that
    no flag allows to remove; such nodes stay closed.
    """
    if not args.words and not args.selector:
        raise KubectlError("error: USAGE: drain NODE [flags]\nSee 'kubectl drain -h' for help and examples")
    words = list(args.words)
    args.words = ["nodes", *words]
    names = [name for _, _, name in named(client, args)]
    for name in names:
        client.ask("GET", client.path(client.resource("nodes"), "", name))
    text, warnings, pending = "", "", {}
    for name in names:
        args.words = [name]
        text += cordon(client, args)
        pods = client.ask("GET", "/api/v1/pods", query={"fieldSelector": f"spec.nodeName={name}"}).object["items"]
        blocked, left = _in_the_way(pods, args)
        if blocked:
            pending[name] = blocked
            continue
        warnings += f"Warning: {'; '.join(left)}\n" if left else ""
        text += _evicted(client, [each for each in pods if not _stays(each)], args)
        text += f"node/{name} drained{_mode(args)}\n"
    if pending:
        raise KubectlError(text + warnings + _told(pending))
    return text + warnings


def _mode(args: Namespace) -> str:
    return {"server": " (server dry run)", "client": " (dry run)"}.get(args.dry_run, "")


def _stays(pod: Mapping[str, Any]) -> bool:
    """True for pods of the node itself, and of daemon sets."""
    return MIRROR_POD in (pod["metadata"].get("annotations") or {}) or _controller(pod) == "DaemonSet"


def _controller(pod: Mapping[str, Any]) -> str:
    return str((controller_of(pod) or {}).get("kind", ""))


def _in_the_way(pods: Pods, args: Namespace) -> tuple[list[str], list[str]]:
    """The pods that may not be removed, and why; and those left out, or removed although nobody replaces them."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        ended = at(pod, "status", "phase") in _ENDED
        if MIRROR_POD in (pod["metadata"].get("annotations") or {}):
            continue
        if _controller(pod) == "DaemonSet":
            found.setdefault(_DAEMONS, []).append(name)
            continue
        if not ended and any("emptyDir" in each for each in at(pod, "spec", "volumes") or ()):
            found.setdefault(_LOCAL, []).append(name)
        if not ended and not _controller(pod):
            found.setdefault(_UNMANAGED, []).append(name)
    allowed = {_DAEMONS: args.ignore_daemonsets, _LOCAL: args.delete_emptydir_data, _UNMANAGED: args.force}
    told = {_DAEMONS: "ignoring", _UNMANAGED: "deleting"}
    blocked = {what: names for what, names in found.items() if not allowed[what]}
    left = [f"{told[what]} {what}: {', '.join(found[what])}" for what in told if what in found and allowed[what]]
    reasons = [f"cannot delete {what} (use --{_FLAGS[what]}): {', '.join(names)}" for what, names in blocked.items()]
    return reasons, left


def _evicted(client: Client, pods: Pods, args: Namespace) -> str:
    """The lines of evictions, in the order of the pods, and those of pods that are gone."""
    text, mode = "", _mode(args)
    seconds = seconds_of(args.timeout, "0s") or None
    for pod in pods:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        text += f"evicting pod {namespace}/{name}{mode}\n"
        if args.dry_run == "client":
            continue
        path = client.path(client.resource("pods"), namespace, name)
        if args.disable_eviction:
            client.ask("DELETE", path, query=query_of(args))
        else:
            _evict(client, path, namespace, name, args)
    for pod in pods:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        path, uid = client.path(client.resource("pods"), namespace, name), pod["metadata"].get("uid")
        if args.dry_run:
            continue
        if not comes(client, path, partial(_is_gone, uid=uid), seconds or _PATIENCE):
            raise KubectlError(f'{text}error when waiting for pod "{name}" in namespace "{namespace}" to terminate')
        text += f"pod/{name} {'deleted' if args.disable_eviction else 'evicted'}\n"
    return text


def _is_gone(live: Mapping[str, Any] | None, *, uid: Any) -> bool:
    return live is None or live["metadata"].get("uid") != uid


def _evict(client: Client, path: str, namespace: str, name: str, args: Namespace) -> None:
    metadata = {"name": name, "namespace": namespace}
    body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    if args.grace_period:
        body["deleteOptions"] = {"gracePeriodSeconds": int(args.grace_period)}
    try:
        client.ask("POST", f"{path}/eviction", body, query=query_of(args))
    except KubectlError as error:
        raise KubectlError(f'error when evicting pods/"{name}" -n "{namespace}": {error.message}') from None


def _told(pending: Mapping[str, list[str]]) -> str:
    """The reasons in the way, for each node and again at the end, as kubectl tells it."""
    text = ""
    for name, reasons in pending.items():
        shown = aggregate_errors(reasons)
        text += f'error: unable to drain node "{name}" due to error: {shown}, continuing command...\n'
    text += "There are pending nodes to be drained:\n"
    return text + "\n".join(line for name, reasons in pending.items() for line in (f" {name}", *reasons))
