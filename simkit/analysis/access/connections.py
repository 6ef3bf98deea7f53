"""Connections to pods as people ask for them: ``exec pods``, answered by the verbs that work at the release."""

from __future__ import annotations

from typing import Final

from simkit.analysis.catalogue import catalogue_of
from simkit.meta.errors import UnknownResource
from simkit.meta.names import GroupResource
from simkit.seams.snapshot import Snapshot

CONNECTIONS: Final = {"exec": "exec", "attach": "attach", "portforward": "portforward", "port-forward": "portforward"}
"""The words for a connection, with the subresource of pods that it is."""
PODS: Final = GroupResource("", "pods")


def connection_subresource(snapshot: Snapshot, verb: str, resource: str) -> str:
    """The subresource of pods that a question is about; empty if its verb is no connection.

    Examples
    --------
    >>> import simkit
    >>> connection_subresource(simkit.Cluster(seed=1).snapshot(), "exec", "po")
    'exec'
    """
    found = CONNECTIONS.get(verb, "") if isinstance(verb, str) else ""
    word, _, behind = resource.partition("/")
    if not found or behind not in ("", found):
        return ""
    try:
        return found if catalogue_of(snapshot).lookup(word).group_resource == PODS else ""
    except UnknownResource:
        return ""


def connection_verbs(snapshot: Snapshot) -> tuple[str, ...]:
    """The verbs each of which is enough for a connection: ``create``, and ``get`` (by WebSocket) before 1.35."""
    return ("create",) if snapshot.behaviour.applies("connections-to-pods-need-create") else ("create", "get")


def connection_asked(snapshot: Snapshot, verb: str, resource: str, subresource: str = "") -> str:
    """The connection that a verb on a subresource of pods means, as in ``create pods/exec``; empty if it is none."""
    word, _, behind = resource.partition("/")
    name = subresource or behind
    if verb not in ("create", "get") or name not in CONNECTIONS.values():
        return ""
    return connection_subresource(snapshot, name, word)
