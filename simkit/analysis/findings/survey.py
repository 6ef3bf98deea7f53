"""The survey of a snapshot that all checks share: its index, facts that several need, and the provider's bindings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any, Final, NamedTuple, TypeVar

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.default_objects import unchanged_defaults
from simkit.analysis.rbac.index import NO_MEMBERS, index_of, members_in
from simkit.analysis.rbac.objects import NAMESPACES, SERVICE_ACCOUNTS, all_bindings
from simkit.analysis.rbac.subject import EVERYONE, Members, normalize_subject, text_of
from simkit.analysis.rendering import first_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, SERVICE_ACCOUNT, Binding, Grant, Subject
from simkit.logic.rbac.cover import EVERYTHING, covers
from simkit.logic.rbac.index import AccessIndex, AllowingGrant
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.meta.names import Key
from simkit.meta.objects import name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.seams.snapshot import Snapshot

T = TypeVar("T")
NAMESPACE_ROLES: Final = (Key(CLUSTER_ROLES, "", "admin"), Key(CLUSTER_ROLES, "", "edit"))
"""The default roles for people who work in a namespace."""


class Survey:
    """A snapshot under audit. ``who`` and ``bindings`` skip unmodified default bindings.

    Parameters
    ----------
    include_defaults
        Whether the server's own roles and bindings are looked at too.
    managed
        Providers of managed clusters whose bindings are left out as well.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        include_defaults: bool = False,
        members: Members = NO_MEMBERS,
        managed: Iterable[str] = (),
    ) -> None:
        self.snapshot, self.members = snapshot, members_in(snapshot, members)
        self._worked_out: dict[Hashable, Any] = {}
        self.index: AccessIndex = index_of(snapshot)
        self._include_defaults = include_defaults
        self.managed = managed_bindings(snapshot, managed) if managed else frozenset()

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """The result of a function, computed once per audit under a name."""
        if name not in self._worked_out:
            self._worked_out[name] = make()
        known: T = self._worked_out[name]
        return known

    @cached_property
    def defaults(self) -> frozenset[Key]:
        """The server's own roles and bindings that are as it made them, unless they are looked at too."""
        return frozenset() if self._include_defaults else unchanged_defaults(self.snapshot)

    @cached_property
    def catalogue(self) -> Catalogue:
        return catalogue_of(self.snapshot)

    @cached_property
    def bindings(self) -> tuple[Binding, ...]:
        """The bindings to audit: all but unchanged defaults."""
        return tuple(binding for binding in self.index.bindings() if not self.is_set_aside(binding.key, binding.role))

    def is_set_aside(self, binding: Key, role: Key) -> bool:
        """True if the binding is the provider's, or both it and its role are unchanged defaults."""
        return (binding in self.defaults and role in self.defaults) or binding in self.managed

    def rules(self, role: Key) -> tuple[Rule, ...]:
        """The rules of a role; empty for a missing role."""
        return self.index.rules(role) or ()

    def who(self, question: Question) -> list[AllowingGrant]:
        """The grants that allow something, without those that are left out."""
        return [
            AllowingGrant(grant, rule)
            for rules, rule in self.index.allowing(question).items()
            for grant in self._grants_of(rules, question.namespace)
            if question.reaches(grant.namespace) and not self.index.denies(question, grant)
        ]

    def _grants_of(self, rules: RuleSet, namespace: str | None) -> Sequence[Grant]:
        """The grants of a rule set, looked for once for all questions."""
        granted = self.index.grants_of
        return self.once(
            (rules, namespace),
            lambda: [one for one in granted(rules, namespace) if not self.is_set_aside(one.binding, one.role)],
        )

    @cached_property
    def full_roles(self) -> frozenset[Key]:
        """The roles whose rules allow everything with every resource."""
        roles = {binding.role for binding in self.index.bindings()}
        return frozenset(role for role in roles if covers(self.rules(role), EVERYTHING[:1]))

    def administers(self, grant: Grant) -> bool:
        """True if a grant makes administrators: of the whole cluster, or, by a default role, of a namespace."""
        return grant.role in self.full_roles or (bool(grant.namespace) and grant.role in NAMESPACE_ROLES)

    @cached_property
    def accounts(self) -> frozenset[tuple[str, str]]:
        """Namespace and name of every service account."""
        return frozenset((namespace_of(obj), name_of(obj)) for obj in self.snapshot.scan(SERVICE_ACCOUNTS))

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that exist or contain an object; manifests often leave out the Namespace itself."""
        there = {name_of(obj) for obj in self.snapshot.scan(NAMESPACES)}
        there |= {binding.namespace for binding in self.index.bindings() if binding.namespace}
        if SERVICE_ACCOUNTS in self.snapshot.captured():
            there |= {namespace for namespace, _ in self.accounts}
        return frozenset(there)


_surveys: SnapshotMemo[dict[Hashable, Survey]] = SnapshotMemo()


def survey_of(
    snapshot: Snapshot, members: Members = NO_MEMBERS, *, include_defaults: bool = False, managed: Iterable[str] = ()
) -> Survey:
    """The survey of a snapshot, made once: an audit, its causes, a plan and a report ask much of the same."""
    names = tuple([managed] if isinstance(managed, str) else managed)
    if members and members != members_in(snapshot, None):
        return Survey(snapshot, include_defaults=include_defaults, members=members, managed=names)
    known = _surveys.of(snapshot, lambda _: {})
    if (include_defaults, names) not in known:
        known[include_defaults, names] = Survey(snapshot, include_defaults=include_defaults, managed=names)
    return known[include_defaults, names]


def listed(subjects: Iterable[Subject | str], most: int = 4) -> str:
    """Subjects as part of a sentence; of many, the first few and a number.

    Examples
    --------
    >>> listed(["a", "b", "c", "d", "e", "f"], most=2)
    'a, b and 4 more'
    """
    return first_of([one if isinstance(one, str) else text_of(one) for one in subjects], most)


def is_everybody(subject: Subject) -> bool:
    """True for a group that contains everybody, or all service accounts of a namespace, and for the anonymous user."""
    return subject.kind != SERVICE_ACCOUNT and (
        subject.name in EVERYONE or any(subject.name.startswith(f"{name}:") for name in EVERYONE)
    )


AUTO: Final = "auto"
"""The value that stands for every provider whose bindings are in the snapshot."""
ENOUGH: Final = 3
"""The number of a provider's bindings from which a snapshot counts as one of its clusters."""


class Provider(NamedTuple):
    """A provider of managed clusters: patterns of the bindings that it makes, and of the subjects in them."""

    bindings: tuple[str, ...]
    subjects: tuple[str, ...]

    def made(self, binding: Binding) -> bool:
        """True if the name and every subject of the binding are the provider's, and none is a group of everybody."""
        if not any(fnmatchcase(binding.key.name, pattern) for pattern in self.bindings):
            return False
        subjects = [normalize_subject(subject) for subject in binding.subjects]
        if any(subject.name in EVERYONE for subject in subjects):
            return False
        texts = map(text_of, subjects)
        return all(any(fnmatchcase(text, pattern) for pattern in self.subjects) for text in texts)


@cache
def providers() -> Mapping[str, Provider]:
    """The known providers by name: eks, gke, aks, openshift."""
    table: dict[str, Any] = datasets.load("rbac/managed-defaults.yaml")
    return {name: Provider(tuple(each["bindings"]), tuple(each["subjects"])) for name, each in table.items()}


def managed_bindings(snapshot: Snapshot, names: Iterable[str]) -> frozenset[Key]:
    """The bindings that these providers made.

    Parameters
    ----------
    names
        Providers, or ``auto`` for those of which the snapshot has several bindings.

    Raises
    ------
    SimkitError
        For a provider that is not known.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in wanted if name not in (AUTO, *providers())]
    if unknown:
        raise SimkitError(f"there is no provider {unknown[0]!r}; known: {', '.join(providers())}, {AUTO}")
    found: set[Key] = set()
    for name, provider in providers().items():
        if name in wanted or AUTO in wanted:
            made = {binding.key for binding in all_bindings(snapshot) if binding.subjects and provider.made(binding)}
            found |= made if name in wanted or len(made) >= ENOUGH else set()
    return frozenset(found)
