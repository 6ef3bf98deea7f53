"""The effects of an answer that its task does not ask for, and what it names instead of what is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.analysis.access.compare import compare
from simkit.analysis.rbac.subject import identity_of, parse_subject, text_of
from simkit.logic.rbac.binding import Binding, Subject, key_of
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource, Key
from simkit.notebook.access_checks import AccessCheck
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
    for row in compare(before.snapshot(), after.snapshot(), each="permission").itertuples(index=False):
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


_BINDINGS: Final = ("rolebindings", "clusterrolebindings")


def named_by_answer(before: Cluster, after: Cluster, subject: str) -> tuple[str, ...]:
    """A line with the subjects of the bindings that an answer wrote, if none of them names a subject or its groups.

    Parameters
    ----------
    before, after
        The cluster without and with the answer.
    subject
        The subject that the answer should have reached, such as ``user:ann``.
    """
    written = _bindings(after) - _bindings(before)
    subjects = {subject for binding in written for subject in _parsed(after, binding).subjects}
    identity = identity_of(subject)
    if not subjects or any(_parsed(after, each).names(identity.user, identity.groups) for each in written):
        return ()
    named = ", ".join(sorted(map(text_of, subjects)))
    return (f"the bindings of the answer name {named}, and not {subject}",)


def _bindings(cluster: Cluster) -> set[tuple[str, str, str, str]]:
    """Every binding by resource, namespace and name, with its resource version."""
    return {
        (word, meta.get("namespace", ""), meta["name"], meta["resourceVersion"])
        for word in _BINDINGS
        for meta in (each["metadata"] for each in cluster.list(word))
    }


def _parsed(cluster: Cluster, binding: tuple[str, str, str, str]) -> Binding:
    word, namespace, name, _ = binding
    obj = cluster.get(word, name, namespace or None)
    return Binding.of(key_of(obj, cluster.engine.catalogue.lookup(word).group_resource), obj)


def resource_text(resource: GroupResource, cluster: Cluster) -> str:
    """The resource in words. One that is not served is called so, with the name that is most like it."""
    name, slash, subresource = resource.resource.partition("/")
    served = {each.group_resource: each for each in cluster.engine.catalogue.resources()}
    if "*" in (resource.group, name):
        return str(resource)
    known = served.get(GroupResource(resource.group, name))
    if known is None:
        group = [each for each in served.values() if each.group == resource.group]
        near = [f"{each.resource}/{name}" for each in group if name in each.subresources][:1]
        near = near or get_close_matches(name, [each.resource for each in group], n=1)
        return f"{resource.resource} of the API group {resource.group!r}, which has no such resource{_meant(near)},"
    if slash and subresource not in ("*", *known.subresources):
        near = [f"{name}/{each}" for each in get_close_matches(subresource, known.subresources, n=1)]
        return f"{resource}, which is no subresource{_meant(near)},"
    return str(resource)


def _meant(near: list[str]) -> str:
    return f" (did you mean {near[0]}?)" if near else ""
