"""The effects of an answer that its task does not ask for: access of anybody, and objects that were there before."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.analysis.access.compare import compare
from simkit.analysis.rbac.subject import parse_subject
from simkit.logic.rbac.binding import Subject
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource, Key
from simkit.notebook.access_checks import AccessCheck
from simkit.notebook.answer_grants import resource_text
from simkit.snapshot.diff import VOLATILE, difference

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

SHOWN: Final = 8
"""Effects that are listed; a wide role gives hundreds of permissions."""
_WRITTEN_BY_SERVER: Final = (*VOLATILE, "metadata.creationTimestamp", "status", "spec.taints")
"""Fields that controllers write. They taint a node that nobody hears of, when enough time has passed."""
_WRITTEN_BY_TIME: Final = frozenset({GroupResource(api_group("coordination"), "leases"), GroupResource("", "events")})
"""Objects that components of the cluster write when time passes, whatever the answer is."""


class _Permission(NamedTuple):
    subject: Subject
    scope: str
    verb: str
    resource: GroupResource
    name: str


def access_beyond(before: Cluster, after: Cluster, attempts: Sequence[AccessCheck]) -> tuple[str, ...]:
    """Lines about the permissions that an answer gave or took, beyond those that must pass or be refused.

    Parameters
    ----------
    before, after
        The cluster without and with the answer.
    attempts
        The requests of the task. What must pass may be gained, what must be refused may be lost.
    """
    wanted = {_asked(attempt, after) for attempt in attempts if attempt.allowed}
    unwanted = {_asked(attempt, after)._replace(name="") for attempt in attempts if not attempt.allowed}
    found = []
    for row in compare(before.snapshot(), after.snapshot()).itertuples(index=False):
        change, who, scope, verb, group, resource, only, url = map(str, row[:8])
        one = _Permission(parse_subject(who), scope, verb, GroupResource(group, resource), only)
        asked_for = one in wanted if change == "gained" else one._replace(name="") in unwanted
        if not asked_for:
            what = [url or resource_text(one.resource, after), *([only] if only else [])]
            where = "everywhere" if scope == "*" else f"in {scope}"
            found.append(f"{who} also {change}: {' '.join([verb, *what, where])}")
    return _first(found)


def _asked(attempt: AccessCheck, cluster: Cluster) -> _Permission:
    word, slash, subresource = attempt.resource.partition("/")
    known = cluster.engine.catalogue.lookup(word)
    scope = attempt.namespace if known.namespaced and attempt.namespace else "*"
    resource = GroupResource(known.group, known.resource + slash + subresource)
    return _Permission(parse_subject(attempt.subject), scope, attempt.verb, resource, attempt.name)


def objects_beyond(before: Cluster, after: Cluster, may_change: Collection[str]) -> tuple[str, ...]:
    """Lines about the objects that an answer removed or changed and had to leave alone.

    Parameters
    ----------
    before, after
        The cluster without and with the answer.
    may_change
        The objects that the answer may change or remove, such as ``roles shop/till-reader`` or ``pods shop/*``.
    """
    found = difference(before.snapshot(), after.snapshot(), ignore=_WRITTEN_BY_SERVER)
    removed = [key for key in found.removed if not _is_free(key, may_change)]
    spaces = {key.name for key in removed if key.resource == GroupResource("", "namespaces")}
    lines = [f"the namespace {name} is gone, with everything in it" for name in sorted(spaces)]
    lines += [f"{_text(key)} is gone" for key in removed if {key.namespace, key.name}.isdisjoint(spaces)]
    for key, fields in found.changed.items():
        if not _is_free(key, may_change):
            lines.append(f"{_text(key)} was changed: {', '.join(_paths(fields))}")
    return _first(lines)


def _is_free(key: Key, patterns: Collection[str]) -> bool:
    return key.resource in _WRITTEN_BY_TIME or any(fnmatchcase(_text(key), pattern) for pattern in patterns)


def _text(key: Key) -> str:
    where = f"{key.namespace}/" if key.namespace else ""
    return f"{key.resource.resource} {where}{key.name}"


def _paths(fields: Sequence[Any]) -> Iterator[str]:
    yield from (field.path for field in fields[:3])
    if len(fields) > 3:
        yield f"and {len(fields) - 3} fields more"


def _first(lines: list[str]) -> tuple[str, ...]:
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return (*lines[:SHOWN], *more)
