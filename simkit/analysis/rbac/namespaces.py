"""Warnings about namespaces that do not exist."""

from __future__ import annotations

from difflib import get_close_matches

from simkit.analysis.rbac.objects import NAMESPACES
from simkit.logic.rbac.binding import ROLE_BINDINGS
from simkit.meta.errors import SimkitError, UnknownNamespace
from simkit.meta.objects import name_of
from simkit.meta.warning import warn_user
from simkit.seams.snapshot import Snapshot


def check_namespace(snapshot: Snapshot, namespace: str | None) -> None:
    """Raise SimkitError for an empty namespace, and warn of one that the snapshot does not have."""
    if namespace is not None and not namespace.strip():
        raise SimkitError("the namespace is empty: name one, or leave it out (None) for all of them")
    warn_of_unknown_namespace(snapshot, namespace)


def warn_of_unknown_namespace(snapshot: Snapshot, namespace: str | None) -> None:
    """Warn if a snapshot has namespaces, but not this one: the answer may not be the intended one."""
    if not namespace or namespace == "*" or NAMESPACES not in snapshot.captured():
        return
    if snapshot.get(NAMESPACES, namespace) is not None or any(True for _ in snapshot.scan(ROLE_BINDINGS, namespace)):
        return
    listed = [name_of(one) for one in snapshot.scan(NAMESPACES)]
    if listed:
        near = get_close_matches(namespace, listed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        warn_user(UnknownNamespace(f"there is no namespace {namespace!r}{hint}"))
