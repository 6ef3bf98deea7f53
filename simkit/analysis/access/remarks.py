"""Remarks on questions whose words mean less, or something else, than they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from simkit.analysis.access.connections import CONNECTIONS, connection_asked, connection_verbs
from simkit.analysis.access.resolve import ALL, REQUEST_VERBS, SPECIAL_VERBS
from simkit.seams.snapshot import Snapshot


def remarks(snapshot: Snapshot, verb: str, resource: str = "", *, name: str | None = "", url: str = "") -> list[str]:
    """Sentences for somebody who typed a question, whose answer is for the words as given.

    Examples
    --------
    >>> import simkit
    >>> remarks(simkit.Cluster(seed=1).snapshot(), "get", url="/a/*/b")
    ["'*' is taken literally: the answer is for the path /a/*/b itself, not for the paths that it would match"]
    """
    return list(_remarks(snapshot, verb, resource, name or "", url))


def _remarks(snapshot: Snapshot, verb: str, resource: str, name: str, url: str) -> Iterator[str]:
    path = url or (resource if resource.startswith("/") else "")
    if ALL in path and path != ALL:
        yield f"'*' is taken literally: the answer is for the path {path} itself, not for the paths that it would match"
    elif resource.endswith("/*"):
        every = f"not for every subresource of {resource[:-2]}"
        yield f"'*' is taken literally: the answer is for a subresource named '*', {every}"
    if verb == "create" and name and "/" not in resource:
        yield f"a create request (POST) does not name the object, so rules limited to the name {name!r} never allow it"
    elif verb not in (*REQUEST_VERBS, *SPECIAL_VERBS, *CONNECTIONS, ALL) and not path:
        yield f"no request has the verb {verb!r}; only programs that check it with access reviews use such rules"
    connection = connection_asked(snapshot, verb, resource)
    if connection:
        works = " or ".join(connection_verbs(snapshot))
        yield f"at release {snapshot.release} {works} is enough for {connection}: ask who can {connection} pods"
