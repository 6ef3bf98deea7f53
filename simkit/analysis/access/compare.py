"""Permissions gained and lost between two snapshots, and those of one subject taken together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from simkit.analysis.caveats import about_access
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import EVERYWHERE, display_name, snapshot_of
from simkit.analysis.rbac.subject import normalize_subject, parse_subject, text_of
from simkit.analysis.rbac.tables import records, table
from simkit.analysis.rbac.unknown_names import check_namespace, warn_of_unnamed_subject
from simkit.analysis.rendering import counted
from simkit.logic.rbac.binding import Grant, Subject
from simkit.logic.rbac.cover import count_of_pieces, covers, uncovered
from simkit.logic.rbac.rule import Rule
from simkit.meta.errors import SimkitError
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = (
    "change",
    "subject",
    "scope",
    "verb",
    "api_group",
    "resource",
    "name",
    "url",
    "bindings",
)
FOLDED: Final = ("change", "subject", "scope", "verbs", "resources", "permissions", "bindings")
"""The columns in which permissions with the same reason are one row."""
CompareEach = Literal["change", "permission"]

GrantsByNamespace = dict[str, tuple[Grant, ...]]
"""The grants of a subject by namespace; the empty namespace is the whole cluster."""


def counted_changes(changes: Iterable[str]) -> str:
    """The number of permissions gained and lost, from the column ``change``.

    Examples
    --------
    >>> counted_changes(["lost", "gained", "lost"]), counted_changes(["gained"]), counted_changes([])
    ('1 permission gained, 2 lost', '1 permission gained', 'no permission gained or lost')
    """
    counts = Counter(changes)
    told = [(counts[word], word) for word in ("gained", "lost") if counts[word]]
    if not told:
        return "no permission gained or lost"
    (number, word), *more = told
    return ", ".join([f"{counted(number, 'permission')} {word}", *(f"{number:,} {word}" for number, word in more)])


@about_access()
def compare(
    before: Snapshot | Sandbox,
    after: Snapshot | Sandbox,
    *,
    subject: Subject | str | Iterable[Subject | str] | None = None,
    namespace: str | None = None,
    each: CompareEach = "change",
) -> pd.DataFrame:
    """The permissions that subjects gained and lost.

    What is compared is access, not objects: a permission that comes by another binding or another role than before,
    or that a wider one includes, has not changed.

    Parameters
    ----------
    before
        The earlier cluster or snapshot: ``simkit.load("before.yaml")``, ``cluster.at(7)``.
    after
        The later one. Permissions are gained that it has and ``before`` has not.
    subject
        Only these subjects; left out: all.
    namespace
        Only changes that count in this namespace, those for everywhere among them; left out: all.
    each
        ``permission``: a row for each single permission, for joins and counts.

    Returns
    -------
    DataFrame
        What is gained before what is lost, the gravest first. One row per change (``gained`` or ``lost``), subject,
        scope (a namespace, or ``*``), verbs and bindings: change, subject, scope, verbs, resources (with names and
        URLs), permissions (number), bindings, by which it has or had them, as a tuple of texts (``RoleBinding
        dev/readers``). With ``each="permission"``: change, subject, scope, verb, api_group, resource, name (empty:
        all), url, bindings.

    Raises
    ------
    SimkitError
        For an empty namespace, a text that is no subject, what is neither a cluster nor a snapshot, another ``each``,
        and a rule with more than 300,000 permissions.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    Subjects are compared by the bindings that name them, not by those which name their groups: a group's change is the
    group's row. Wildcards are kept: who gained ``*`` has one row for it. O(changed subjects x their rules squared).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> before = cluster.snapshot()
    >>> _ = cluster.delete("clusterrolebinding", "cluster-admin")
    >>> list(cluster.compare(before=before)["change"])
    ['lost']
    """
    was, now = snapshot_of(before), snapshot_of(after)
    check_namespace(now, namespace)
    named = None if subject is None else [subject] if isinstance(subject, Subject | str) else list(subject)
    for one in named or ():
        warn_of_unnamed_subject(one, was, now)
    rows = changed_permissions(was, now, None if named is None else map(parse_subject, named))
    kept = [row for row in rows if namespace is None or row[COLUMNS.index("scope")] in (EVERYWHERE, namespace)]
    if each == "permission":
        return table(kept, COLUMNS)
    if each != "change":
        raise SimkitError(f"there is a row for each change, or for each permission, and none for each {each!r}")
    return table((one.row() for one in access_changes(records(kept, COLUMNS))), FOLDED)


def changed_permissions(
    before: Snapshot, after: Snapshot, subjects: Iterable[Subject] | None = None
) -> list[tuple[Any, ...]]:
    """The permissions that some subjects, or all, gained and lost: the rows of ``compare`` about them.

    Notes
    -----
    O(bindings of the subjects), once the snapshots are indexed.
    """
    indexes = index_of(before), index_of(after)
    if subjects is None:
        return changed_grants(*(index.all_grants() for index in indexes))
    listed = tuple(dict.fromkeys(map(normalize_subject, subjects)))
    return changed_grants(*(chain.from_iterable(map(index.grants_of_subject, listed)) for index in indexes))


def changed_grants(before: Iterable[Grant], after: Iterable[Grant]) -> list[tuple[Any, ...]]:
    """The permissions that subjects gained and lost between two sets of grants: rows of ``compare``."""
    rows: list[tuple[Any, ...]] = []
    old, new = _holdings(before), _holdings(after)
    for subject in tracked(sorted(old.keys() | new.keys()), "comparing subjects"):
        was, now = old.get(subject, {}), new.get(subject, {})
        if was != now:
            rows += [("gained", *row) for row in _beyond(subject, was, now)]
            rows += [("lost", *row) for row in _beyond(subject, now, was)]
    return rows


def _holdings(grants: Iterable[Grant]) -> dict[Subject, GrantsByNamespace]:
    held: dict[Subject, GrantsByNamespace] = {}
    for grant in grants:
        scopes = held.setdefault(normalize_subject(grant.subject), {})
        scopes[grant.namespace] = (*scopes.get(grant.namespace, ()), grant)
    return held


def _beyond(subject: Subject, less: GrantsByNamespace, more: GrantsByNamespace) -> Iterator[tuple[Any, ...]]:
    """The single permissions in ``more`` that ``less`` does not include, with the bindings that give them."""
    for scope in sorted(more):
        _check_size(subject, more[scope])
        owned = _rules(less.get("", ())) + (_rules(less.get(scope, ())) if scope else ())
        for piece in dict.fromkeys(uncovered(owned, _rules(more[scope], local=bool(scope)))):
            resource, group = (piece.resources or ("",))[0], (piece.api_groups or ("",))[0]
            name, url = (piece.resource_names or ("",))[0], (piece.paths or ("",))[0]
            by = tuple(
                dict.fromkeys(display_name(grant.binding) for grant in more[scope] if covers(grant.rules, [piece]))
            )
            yield (text_of(subject), scope or EVERYWHERE, piece.verbs[0], group, resource, name, url, by)


def _check_size(subject: Subject, grants: Iterable[Grant]) -> None:
    """Raise SimkitError for a rule with more permissions than can be listed one by one."""
    for grant in grants:
        for rule in grant.rules:
            count = count_of_pieces(rule)
            if count > MOST_OF_A_RULE:
                role, who = display_name(grant.role), text_of(subject)
                raise SimkitError(
                    f"a rule of {role} gives {who} {count:,} permissions (verbs by groups by resources by names), more "
                    f"than the {MOST_OF_A_RULE:,} that are compared one by one; shorten it, or leave out the role"
                )


def _rules(grants: Iterable[Grant], *, local: bool = False) -> tuple[Rule, ...]:
    """All rules of some grants; for bindings in a namespace only the rules about resources."""
    return tuple(rule for grant in grants for rule in grant.rules if rule.resources or not local)


MOST_OF_A_RULE: Final = 300_000
"""The most permissions of one rule, a few seconds of work."""
VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_GRAVE: Final = frozenset({"escalate", "bind", "impersonate"})
_TELLING: Final = frozenset({"secrets", "serviceaccounts/token", "pods/exec", "pods/attach", "nodes/proxy", "*", "*/*"})
_GRANTING: Final = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
Row = Mapping[Any, Any]
"""A row of ``compare``."""


class AccessChange(NamedTuple):
    """The permissions that one subject gains or loses in one namespace: verbs on resources."""

    weight: int
    change: str
    subject: str
    scope: str
    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    bindings: tuple[str, ...]

    def row(self) -> tuple[object, ...]:
        """The change in the order of ``FOLDED``."""
        told, permissions = self[1:6], len(self.verbs) * len(self.resources)
        return (*told, permissions, self.bindings)


def access_changes(rows: Iterable[Row]) -> list[AccessChange]:
    """Single permissions put together: what is gained before what is lost, the gravest first.

    Resources with the same verbs in the same namespace through the same bindings are one change.
    """
    return sorted(_changes(rows), key=lambda one: (one.change != "gained", -one.weight, one.subject, one.scope))


def _changes(rows: Iterable[Row]) -> Iterator[AccessChange]:
    verbs: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in rows:
        place = (row["change"], row["subject"], row["scope"], _resource(row), tuple(row["bindings"]))
        verbs.setdefault(place, {})[row["verb"]] = None
    resources: dict[tuple[Any, ...], list[str]] = {}
    for (change, subject, scope, resource, bindings), found in verbs.items():
        ordered = tuple(sorted(found, key=lambda verb: (VERBS.index(verb) if verb in VERBS else -1, verb)))
        weight = _weight(ordered, resource, scope)
        resources.setdefault((weight, change, subject, scope, ordered, bindings), []).append(resource)
    for (weight, change, subject, scope, ordered, bindings), named in resources.items():
        yield AccessChange(weight, change, subject, scope, ordered, tuple(named), bindings)


def _weight(verbs: Sequence[str], resource: str, scope: str) -> int:
    """The weight of a change for a reviewer: 0 for an ordinary one."""
    plural = resource.split(" ")[0].partition(".")[0]
    writes = set(verbs) - {"get", "list", "watch"}
    grave = bool(_GRAVE & set(verbs)) or "*" in verbs or (plural in _GRANTING and bool(writes))
    weight = (2 if grave else 0) + (1 if plural in _TELLING else 0)
    return weight + (1 if weight and scope == "*" else 0)


def _resource(row: Row) -> str:
    if row["url"]:
        return str(row["url"])
    named = f"{row['resource']}.{row['api_group']}" if row["api_group"] else str(row["resource"])
    return f"{named} {row['name']}" if row["name"] else named
