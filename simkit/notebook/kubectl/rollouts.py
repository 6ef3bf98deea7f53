"""kubectl rollout.

Upstream: k8s.io/kubectl/pkg/cmd/rollout and k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Final

from simkit.meta.objects import at
from simkit.notebook.kubectl.changing import pause, restart, resume
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.selection import selected

_CHANGES: Final[Mapping[str, Callable[[Client, Namespace], str]]] = {
    "restart": restart,
    "pause": pause,
    "resume": resume,
}


def rollout(client: Client, args: Namespace) -> str:
    """``rollout status`` of a deployment, as it stands now; ``rollout restart``, ``pause`` and ``resume``."""
    word, *args.words = args.words or [""]
    if word in _CHANGES:
        return _CHANGES[word](client, args)
    if word != "status":
        raise KubectlError(f'error: unknown rollout command "{word}"; known: status, {", ".join(_CHANGES)}')
    [one] = selected(client, args.words)
    obj = client.ask("GET", client.path(one.resource, client.namespace, one.name)).object
    wanted, status = at(obj, "spec", "replicas") or 0, obj.get("status") or {}
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    head = f'Waiting for deployment "{one.name}" rollout to finish: '
    if updated < wanted:
        return f"{head}{updated} out of {wanted} new replicas have been updated...\n"
    if status.get("replicas", 0) > updated:
        return f"{head}{status['replicas'] - updated} old replicas are pending termination...\n"
    if available < updated:
        return f"{head}{available} of {updated} updated replicas are available...\n"
    return f'deployment "{one.name}" successfully rolled out\n'
