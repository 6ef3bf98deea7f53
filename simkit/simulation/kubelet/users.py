"""The users that containers run as.

Upstream: pkg/kubelet/kuberuntime/security_context.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.meta.objects import Object, at
from simkit.simulation.shell.user_files import User


def user_of(pod: Object, container: Mapping[str, Any]) -> User:
    """The user of a container: as its pod and itself say, else root, since users of images are not known."""
    uid, gid = _told(pod, container, "runAsUser"), _told(pod, container, "runAsGroup")
    context = at(pod, "spec", "securityContext") or {}
    group = context.get("fsGroup")
    groups = (*(context.get("supplementalGroups") or ()), *(() if group is None else (group,)))
    return User(int(uid or 0), int(gid or 0), tuple(dict.fromkeys(int(each) for each in groups)))


def _told(pod: Object, container: Mapping[str, Any], field: str) -> Any:
    own = (container.get("securityContext") or {}).get(field)
    return own if own is not None else (at(pod, "spec", "securityContext") or {}).get(field)


def owner_of_tokens(pod: Object) -> int | None:
    """The user whom tokens of a pod belong to: the one that all its containers run as; None where they differ."""
    containers = [*(at(pod, "spec", "initContainers") or ()), *(at(pod, "spec", "containers") or ())]
    users = {_told(pod, each, "runAsUser") for each in containers}
    only = users.pop() if len(users) == 1 else None
    return None if only is None else int(only)
