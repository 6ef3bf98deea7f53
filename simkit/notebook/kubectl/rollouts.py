"""kubectl rollout.

Upstream: k8s.io/kubectl/pkg/cmd/rollout and k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.meta.clock import SystemClock
from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.changing import pause, restart, resume
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.revisions import history, undo
from simkit.notebook.kubectl.selection import selected
from simkit.notebook.kubectl.waiting import comes, seconds_of

_DONE: Final = ("successfully rolled out", "roll out complete", "rolling update complete")
"""Words of the lines that end a rollout."""
_SIMULATED_SECONDS: Final = 660.0
"""A minute more than controllers give a deployment by default."""
_REAL_SECONDS: Final = 30.0


def rollout(client: Client, args: Namespace) -> str:
    """``rollout status``, which waits, ``history``, ``undo``, ``restart``, ``pause`` and ``resume``."""
    word, *args.words = args.words or [""]
    if word not in _COMMANDS:
        raise KubectlError(f"error: unknown command \"{word}\"\nSee 'kubectl rollout -h' for help and examples")
    if not args.words:
        raise KubectlError("error: required resource not specified")
    return _COMMANDS[word](client, args)


def _status(client: Client, args: Namespace) -> str:
    """A line for each state of the rollout until it is done, or the present one with ``--watch=false``.

    A simulated clock is turned, for as long as the controllers give a rollout before they call it failed, or
    ``--timeout``. On the machine's clock the time is waited for.
    """
    [one] = selected(client, args.words)
    path = client.path(one.resource, client.namespace, one.name)
    obj = client.ask("GET", path).object
    told = _TOLD.get(obj["kind"])
    if told is None:
        raise KubectlError(f"error: no status viewer has been implemented for {obj['kind']}")
    if "--watch" in args.off:
        return f"{told(obj)}\n"
    lines: list[str] = []

    def is_done(live: Mapping[str, Any] | None) -> bool:
        if live is None:
            raise KubectlError("error: object has been deleted")
        line = told(live)
        if line not in lines[-1:]:
            lines.append(line)
        return any(words in line for words in _DONE)

    real = isinstance(client.cluster.clock, SystemClock)
    seconds = seconds_of(args.timeout, "0s") or (_REAL_SECONDS if real else _SIMULATED_SECONDS)
    try:
        done = is_done(obj) or comes(client, path, is_done, seconds)
    except KubectlError as error:
        raise KubectlError("\n".join([*lines, error.text])) from None
    if not done:
        raise KubectlError("\n".join([*lines, "error: timed out waiting for the condition"]))
    return "".join(f"{line}\n" for line in lines)


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
