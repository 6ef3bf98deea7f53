"""kubectl rollout.

Upstream: k8s.io/kubectl/pkg/cmd/rollout and k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Final

from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.changing import pause, restart, resume
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.revisions import history, undo
from simkit.notebook.kubectl.selection import selected


def rollout(client: Client, args: Namespace) -> str:
    """``rollout status`` as it stands now, ``history``, ``undo``, ``restart``, ``pause`` and ``resume``."""
    word, *args.words = args.words or [""]
    if word not in _COMMANDS:
        raise KubectlError(f"error: unknown command \"{word}\"\nSee 'kubectl rollout -h' for help and examples")
    if not args.words:
        raise KubectlError("error: required resource not specified")
    return _COMMANDS[word](client, args)


def _status(client: Client, args: Namespace) -> str:
    [one] = selected(client, args.words)
    obj = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
    told = _TOLD.get(obj["kind"])
    if told is None:
        raise KubectlError(f"error: no status viewer has been implemented for {obj['kind']}")
    return f"{told(obj)}\n"


def _is_seen(obj: Object) -> bool:
    """True if the controller has seen what was written last."""
    return bool(obj["metadata"].get("generation", 0) <= (at(obj, "status", "observedGeneration") or 0))


def _deployment(obj: Object) -> str:
    name, status = obj["metadata"]["name"], obj.get("status") or {}
    if not _is_seen(obj):
        return "Waiting for deployment spec update to be observed..."
    if any(each.get("reason") == "ProgressDeadlineExceeded" for each in status.get("conditions") or ()):
        raise KubectlError(f'error: deployment "{name}" exceeded its progress deadline')
    wanted, updated = at(obj, "spec", "replicas") or 0, status.get("updatedReplicas", 0)
    head = f'Waiting for deployment "{name}" rollout to finish: '
    if updated < wanted:
        return f"{head}{updated} out of {wanted} new replicas have been updated..."
    if status.get("replicas", 0) > updated:
        return f"{head}{status['replicas'] - updated} old replicas are pending termination..."
    if status.get("availableReplicas", 0) < updated:
        return f"{head}{status.get('availableReplicas', 0)} of {updated} updated replicas are available..."
    return f'deployment "{name}" successfully rolled out'


def _rolling(obj: Object) -> None:
    if at(obj, "spec", "updateStrategy", "type") != "RollingUpdate":
        raise KubectlError("error: rollout status is only available for RollingUpdate strategy type")


def _daemon_set(obj: Object) -> str:
    _rolling(obj)
    name, status = obj["metadata"]["name"], obj.get("status") or {}
    if not _is_seen(obj):
        return "Waiting for daemon set spec update to be observed..."
    head = f'Waiting for daemon set "{name}" rollout to finish: '
    wanted, updated = status.get("desiredNumberScheduled", 0), status.get("updatedNumberScheduled", 0)
    if updated < wanted:
        return f"{head}{updated} out of {wanted} new pods have been updated..."
    if status.get("numberAvailable", 0) < wanted:
        return f"{head}{status.get('numberAvailable', 0)} of {wanted} updated pods are available..."
    return f'daemon set "{name}" successfully rolled out'


def _stateful_set(obj: Object) -> str:
    _rolling(obj)
    status, wanted = obj.get("status") or {}, at(obj, "spec", "replicas") or 0
    if not _is_seen(obj):
        return "Waiting for statefulset spec update to be observed..."
    if status.get("readyReplicas", 0) < wanted:
        return f"Waiting for {wanted - status.get('readyReplicas', 0)} pods to be ready..."
    updated, partition = (
        status.get("updatedReplicas", 0),
        at(obj, "spec", "updateStrategy", "rollingUpdate", "partition"),
    )
    if partition is not None:
        if updated < wanted - partition:
            rest = f"{updated} out of {wanted - partition} new pods have been updated..."
            return f"Waiting for partitioned roll out to finish: {rest}"
        return f"partitioned roll out complete: {updated} new pods have been updated..."
    if status.get("updateRevision") != status.get("currentRevision"):
        at_revision = f"{updated} pods at revision {status.get('updateRevision')}..."
        return f"waiting for statefulset rolling update to complete {at_revision}"
    told = f"{status.get('currentReplicas', 0)} pods at revision {status.get('currentRevision')}..."
    return f"statefulset rolling update complete {told}"


_TOLD: Final[Mapping[str, Callable[[Object], str]]] = {
    "Deployment": _deployment,
    "DaemonSet": _daemon_set,
    "StatefulSet": _stateful_set,
}
_COMMANDS: Final[Mapping[str, Callable[[Client, Namespace], str]]] = {
    "status": _status,
    "history": history,
    "undo": undo,
    "restart": restart,
    "pause": pause,
    "resume": resume,
}
