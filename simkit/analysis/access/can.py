"""The decision about one permission of one subject, with its evidence or its near misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from simkit.analysis.access.constraint_lists import listed
from simkit.analysis.access.near_misses import NearMiss, Remedy, near_misses, remedies
from simkit.analysis.access.resolve import (
    SINGLE_OBJECT_VERBS,
    Permission,
    check_verb,
    connection_subresource,
    connection_verbs,
    one_verb,
    resolve_permission,
    scope_of,
    verbs_of,
)
from simkit.analysis.access.undecided import why_unknown
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.caveats import about_access
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import chain_of, identity_with_members, index_of, members_in
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import Members, normalize_subject, several_groups, text_of
from simkit.analysis.rbac.tables import rule_text, table
from simkit.analysis.rbac.unknown_names import known_subject, unnamed
from simkit.analysis.result import InLines
from simkit.logic.authorizers.chain import AuthorizerChain
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.logic.rbac.index import AccessIndex
from simkit.meta.attributes import Attributes, Decision, Evidence, Verdict
from simkit.meta.identity import Identity
from simkit.meta.visible_text import html_text
from simkit.present.colours import GREEN, VERMILION
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class AccessDecision(InLines):
    """A decision about one question, with its explanation. It is true in a condition exactly if it allows.

    ``decision`` is the authorizer's own, with its reason and evidence. ``admission`` is a sentence about what the
    admission of pods allows although no authorizer does; empty if there is nothing. ``unknown`` is the reason for which
    the answer is not known, because a provider's statement may or may not count; it is then neither yes nor no.
    """

    subject: Subject
    permission: Permission
    namespace: str
    decision: Decision
    ask: Attributes = field(repr=False)
    index: AccessIndex = field(repr=False, compare=False)
    members: Members = field(repr=False, compare=False, default_factory=dict)
    chain: AuthorizerChain | None = field(repr=False, compare=False, default=None)
    admission: str = ""
    unknown: str = ""
    who_is_meant: Callable[[], str] | None = field(repr=False, compare=False, default=None)
    """Gives a sentence on a subject that no binding names."""

    @property
    def allowed(self) -> bool:
        return self.decision.allowed and not self.unknown

    @property
    def verdict(self) -> Verdict:
        return self.decision.verdict

    @property
    def reason(self) -> str:
        return self.decision.reason

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return self.decision.evidence

    def __bool__(self) -> bool:
        return self.allowed

    @cached_property
    def near_misses(self) -> tuple[NearMiss, ...]:
        """The grants that come nearest to allowing it, the nearest first; empty if it is allowed."""
        if self.decision.allowed:
            return ()
        groups = (Subject(GROUP, name) for name in self.ask.identity.groups)
        return near_misses(self.index, dict.fromkeys((self.subject, *groups)), self.ask, self.permission)

    @cached_property
    def remedies(self) -> tuple[Remedy, ...]:
        """Single changes that would allow it, each as objects to apply; empty if it is allowed.

        Those come first which give it to nobody else and little besides; one is a role with just this permission.
        """
        return () if self.decision.allowed else remedies(self.index, self.subject, self.ask, self.near_misses)

    def to_frame(self) -> pd.DataFrame:
        """One row: subject, allowed, answer, question, reason, explanation (a tuple of sentences)."""
        who, told = text_of(self.subject), tuple(self.explanation())
        row = (who, self.allowed, self.answer, self.question, self.reason, told)
        return table([row], ("subject", "allowed", "answer", "question", "reason", "explanation"))

    @property
    def why(self) -> str:
        """The explanation as a text of one sentence a line."""
        return "\n".join(self.explanation())

    @property
    def question(self) -> str:
        """The question in words."""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{text_of(self.subject)}: {self.permission}{where}"

    @property
    def answer(self) -> str:
        """The answer in words: yes, no, unknown, or no with a yes of the admission."""
        if self.unknown:
            return "unknown"
        if self.admission:
            return "no by roles, yes for the admission of pods"
        return "yes" if self.allowed else "no"

    def lines(self) -> Iterator[str]:
        """The answer, its explanation and the first remedy, line by line."""
        yield f"{self.answer}  {self.question}"
        yield from (f"  {line}" for line in self.explanation())
        yield from (f"  to allow it: {remedy}" for remedy in self.remedies[:1])

    def explanation(self) -> Iterator[str]:
        """The reasons: the evidence if it is allowed, the near misses if it is not."""
        yield from filter(None, (self.unknown, self.admission))
        if self.decision.allowed and not self.evidence:
            mode = self.chain.speaker(self.ask) if self.chain else ""
            masters = "members of system:masters can do anything, without a binding"
            yield f"the authorizer {mode} allows it, without a binding" if mode else masters
        for evidence in self.evidence:
            rule = (self.index.rules(evidence.role) or ())[evidence.rule]
            yield f"{display_name(evidence.binding)} grants {display_name(evidence.role)}"
            yield f"rule {evidence.rule}: {rule_text(rule)}"
        if not self.decision.allowed and not self.near_misses:
            yield "no other binding grants this" if self.unknown else "no binding grants this"
        for miss in self.near_misses:
            yield f"near miss: {miss}"
        if self.who_is_meant is not None:
            yield from filter(None, (self.who_is_meant(),))

    def _repr_html_(self) -> str:
        head, *more = self.lines()
        colour = "inherit" if self.unknown else GREEN if self.allowed else VERMILION
        items = "".join(f"<li>{html_text(line.strip())}</li>" for line in more)
        return f'<p style="color:{colour}"><b>{html_text(head)}</b></p><ul>{items}</ul>'


@about_access()
def can(
    snapshot: Snapshot,
    subject: Subject | Identity | str,
    verb: str,
    resource: str = "",
    *,
    subresource: str = "",
    name: str = "",
    namespace: str | None = None,
    url: str = "",
    api_group: str | None = None,
    groups: Iterable[str] = (),
    members: Members | None = None,
) -> AccessDecision:
    """The decision whether a subject may do something, with the evidence or the near misses.

    Parameters
    ----------
    subject
        ``alice``, ``user:alice``, ``group:devs`` (some member of it), ``sa:ns/name`` or a ``Subject``. The groups
        that the server adds by itself count. An ``Identity`` has just the groups that it has, as in an access review.
    verb, resource, subresource, name, url, api_group
        As for ``who_can``; an empty name is a request that names no object.
    namespace
        Where; None: in all namespaces at once. It has no effect for resources without a namespace,
        unless ``api_group`` is given, as in access reviews.
    groups, members
        Further groups of the subject, which an identity provider keeps: by name, or as a table of their members.

    Returns
    -------
    AccessDecision
        True in a condition if it is certainly allowed; printed, it explains itself.

    Raises
    ------
    UnknownResource, SimkitError
        For words that name nothing, with near ones, for an empty namespace, and for ``groups`` as one text.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    The decision is that of the authorizers which ``snapshot.authorization`` names, preceded by that for
    ``system:masters``. O(bindings that name the subject or its groups).

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> bool(cluster.can("user:ann", "delete", "nodes")), bool(cluster.can("group:system:masters", "delete", "nodes"))
    (False, True)
    """
    connection = "" if url or api_group is not None else connection_subresource(snapshot, verb, resource)
    if connection:
        options: dict[str, Any] = {"name": name, "namespace": namespace, "members": members}
        options["groups"] = several_groups(groups)
        ways = [can(snapshot, subject, one, f"pods/{connection}", **options) for one in connection_verbs(snapshot)]
        return next((way for way in ways if way), ways[0])
    members = members_in(snapshot, members)
    index = index_of(snapshot)
    who = _named(subject) if isinstance(subject, Identity) else known_subject(snapshot, subject)
    asked = _permission(snapshot, index, (verb, resource, subresource, name, url, api_group))
    where = namespace_of_request(asked, scope_of(namespace) or "")
    groups = several_groups(groups)
    ask = asked.ask(where, subject if isinstance(subject, Identity) else identity_with_members(who, members, groups))
    chain = chain_of(snapshot)
    groups_of_subject = {name: [text_of(who)] for name in groups}
    decision, known = chain.authorize(ask), {**members, **groups_of_subject}
    admission = "" if decision.allowed else listed(snapshot, ask)
    unknown = why_unknown(index, ask, decision)
    meant = None if members or groups or isinstance(subject, Identity) else partial(unnamed, snapshot, who, warned=True)
    return AccessDecision(who, asked, where, decision, ask, index, known, chain, admission, unknown, meant)


def _named(asking: Identity) -> Subject:
    """The subject of an identity: its user, or, if it has none, its first group."""
    if asking.user or not asking.groups:
        return normalize_subject(Subject(USER, asking.user))
    return Subject(GROUP, asking.groups[0])


PermissionArguments = tuple[str, str, str, str, str, str | None]
_permissions: SnapshotMemo[dict[PermissionArguments, Permission]] = SnapshotMemo()


def _permission(snapshot: Snapshot, index: AccessIndex, arguments: PermissionArguments) -> Permission:
    """The permission that the arguments name, looked up once per snapshot."""
    one_verb(arguments[0])
    known = _permissions.of(snapshot, lambda _: {})
    found = known.get(arguments)
    if found is None:
        verb, resource, subresource, name, url, api_group = arguments
        found = resolve_permission(
            snapshot, verb, resource, subresource=subresource, name=name, url=url, api_group=api_group
        )
        if api_group is None:
            check_verb(verb, verbs_of(index.all_grants()), catalogue_of(snapshot))
        known[arguments] = found
    return found


def namespace_of_request(asked: Permission, namespace: str) -> str:
    """The namespace of a request for the target: empty for cluster-scoped resources, except namespaces themselves."""
    if asked.as_written:
        return namespace
    if asked.is_namespace and (asked.verb in SINGLE_OBJECT_VERBS or asked.subresource):
        return asked.name or namespace
    return namespace if asked.is_placed else ""
