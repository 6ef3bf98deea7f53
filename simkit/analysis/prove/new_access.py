"""The proof that a change allows no request of anybody that was not allowed before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.caveats import with_caveats
from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, ProofAnswer, different, scope_caveats, undecided
from simkit.analysis.prove.bindings import (
    AddedRule,
    Held,
    Holdings,
    RbacSide,
    holder_text,
    principals_of_identity,
    unused_name,
    weakest_identity,
)
from simkit.analysis.prove.classes import Coverage, TooManyClasses, coverage, request_of_class
from simkit.analysis.prove.permission import AccessCounterexample, ReviewedSide, grant_text, reproduced
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.objects import EVERYWHERE, display_name, snapshot_of
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import rule_text, table
from simkit.analysis.rendering import counted
from simkit.logic.authorizers.chain import AuthorizerChain
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.rule import Rule, rule_allows
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity
from simkit.seams.snapshot import Sandbox, Snapshot

COLUMNS: Final = ("case", "subject", "scope", "rule", "granted_by", "classes", "before")
CLAIM: Final = "The change allows no request that was not allowed before"
SHOWN: Final = 10
"""The counterexamples that an answer holds; one for each subject."""
_MOST_TRIED: Final = 50
"""The classes of a rule that are tried where an authorizer besides RBAC has allowed some of them."""


def no_new_access(
    before: Snapshot | Sandbox,
    after: Snapshot | Sandbox,
    *,
    within_hops: int = 0,
    members: Members | None = None,
) -> ProofAnswer:
    """The proof that nobody is allowed anything that was not allowed before, or the requests that are new.

    Decided for all requests: of users that nobody has named yet, in any combination of groups, in namespaces and for
    custom resources that do not exist yet, for any name, subresource, verb and path.

    Parameters
    ----------
    before, after
        The two clusters or snapshots. Counterexamples are executed on forks of clusters; of snapshots the authorizers
        are asked.
    within_hops
        Also compare what can be reached with so many escalation steps: cluster-admin, all secrets and nodes.
    members
        The members of groups that the cluster does not keep, for escalation steps.

    Returns
    -------
    ProofAnswer
        PASS, FAIL with a counterexample for each subject that gains access (at most ten), or UNKNOWN with the reason.
        ``to_frame()`` has one row per added rule and subject: case (``new`` or ``covered``), subject, scope, rule,
        granted_by, classes (of requests, that were looked at), before (the bindings that allowed them).

    Raises
    ------
    IncompleteSnapshot
        Where roles or bindings were not captured.
    NotReproduced
        Where the server does not confirm a counterexample, which is a fault of simkit.

    Notes
    -----
    Only the bindings and roles that changed are looked at: O(bindings) to find them, then O(rules of the subjects that
    they name). Identities have the groups that kube-apiserver adds by itself; names that begin with ``system:`` come
    from Kubernetes alone. Aggregated roles count with the rules that their controller gives them.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> with cluster.what_if() as trial:
    ...     _ = trial.delete("clusterrolebinding", "cluster-admin")
    >>> trial.no_new_access().verdict
    'PASS'
    """
    was, now = snapshot_of(before), snapshot_of(after)
    limits = scope_caveats((was, now))
    reason = undecided(was) or undecided(now)
    if reason:
        return with_caveats(ProofAnswer(CLAIM, UNKNOWN, reason), limits)
    comparison = Comparison(ReviewedSide(before, was), ReviewedSide(after, now))
    answer = comparison.answer()
    if answer.passed and within_hops:
        from simkit.analysis.prove.reachable import nothing_new_reachable  # the larger part of this floor

        answer = nothing_new_reachable(answer, before, after, within_hops, members or NO_MEMBERS)
    return with_caveats(answer, limits)


@dataclass(frozen=True)
class _Gain:
    """An added rule that a subject holds, with what of it was allowed before."""

    added: AddedRule
    identity: Identity
    owned: tuple[Held, ...]
    coverage: Coverage

    @property
    def is_new(self) -> bool:
        return bool(self.coverage.uncovered)

    def row(self, case: str) -> tuple[Any, ...]:
        added = self.added
        rule = f"{display_name(added.role)} rule {added.number}"
        earlier = tuple(dict.fromkeys(display_name(self._binding(number)) for number in sorted(self.coverage.used)))
        scope = added.binding.namespace or EVERYWHERE
        told = (holder_text(added.principal), scope, rule_text(added.rule), f"{display_name(added.binding)}: {rule}")
        return (case, *told, self.coverage.classes, earlier)

    def _binding(self, number: int) -> Any:
        """The binding of an owned rule, by its number in the rules of all that is owned."""
        for held in self.owned:
            if number < len(held.rules.rules):
                return held.binding
            number -= len(held.rules.rules)
        raise IndexError(number)


class Comparison:
    """Two sides, and what the later one allows beyond the earlier one."""

    def __init__(self, before: ReviewedSide, after: ReviewedSide) -> None:
        self.before, self.after = before, after
        self.undecided: list[str] = []
        """The reasons for which an added rule could not be decided."""
        self._was, self._now = RbacSide(self.before.snapshot), RbacSide(self.after.snapshot)
        self._known: dict[tuple[Rule, bool, tuple[RuleSet, ...]], Coverage] = {}

    def answer(self) -> ProofAnswer:
        """The verdict about requests."""
        gains = list(self._gains())
        found, rows = self._counterexamples(gains)
        cases = table(rows, COLUMNS)
        if found:
            now = replace(self.after, unsettled=self._now.unsettled)
            confirmed = reproduced(found, now, replace(self.before, unsettled=self._was.unsettled))
            return ProofAnswer(CLAIM, FAIL, self._why_new(confirmed), confirmed, cases)
        other = different(self.before.snapshot, self.after.snapshot)
        told = self._why_covered(gains)
        if self.undecided or other:
            reasons = " ".join(dict.fromkeys([*self.undecided, *([other] if other else [])]))
            return ProofAnswer(CLAIM, UNKNOWN, f"{reasons} By roles and bindings otherwise: {told}", (), cases)
        return ProofAnswer(CLAIM, PASS, told, (), cases)

    @cached_property
    def _new_name(self) -> str:
        return unused_name("somebody", self._was.names | self._now.names)

    @cached_property
    def _new_namespace(self) -> str:
        return unused_name("some-namespace", self._was.names | self._now.names)

    def _gains(self) -> Iterable[_Gain]:
        """Each added rule with a subject that holds it, and what of it that subject was allowed before."""
        added = [
            (each, identity)
            for each in self._now.added_rules(self._was)
            if (identity := weakest_identity(each.principal, self._new_name)) is not None
        ]
        holdings = Holdings(self._was, (one for _, identity in added for one in principals_of_identity(identity)))
        for each, identity in added:
            owned = holdings.of(identity, each.binding.namespace)
            try:
                yield _Gain(each, identity, owned, self._coverage(each, owned, self._most(identity)))
            except TooManyClasses as many:
                self.undecided.append(f"{display_name(each.role)}, rule {each.number}: {many}.")

    def _coverage(self, added: AddedRule, owned: Sequence[Held], most: int) -> Coverage:
        key = (added.rule, bool(added.binding.namespace), tuple(held.rules for held in owned))
        known = self._known.get(key)
        if known is None:
            rules = [rule for held in owned for rule in held.rules.rules]
            known = self._known[key] = coverage(added.rule, rules, local=key[1], most=most)
        return known

    @cached_property
    def _others(self) -> AuthorizerChain:
        """The authorizers besides RBAC, as they were before."""
        return AuthorizerChain(self.before.snapshot, AccessIndex())

    def _most(self, identity: Identity) -> int:
        return _MOST_TRIED if any(other.concerns(identity) for other in self._others.others) else 1

    def _counterexamples(self, gains: Sequence[_Gain]) -> tuple[list[AccessCounterexample], list[tuple[Any, ...]]]:
        """A new request for each subject that gains access, and the rows of all gains, the new ones first."""
        found: dict[str, AccessCounterexample] = {}
        new, covered = [], []
        for gain in gains:
            subject = holder_text(gain.added.principal)
            if not gain.is_new:
                covered.append(gain.row("covered"))
                continue
            new.append(gain.row("new"))
            if subject in found or len(found) == SHOWN:
                continue
            example = self._counterexample(gain)
            if example is not None:
                found[subject] = example
        return list(found.values()), [*new, *covered]

    def _counterexample(self, gain: _Gain) -> AccessCounterexample | None:
        added, identity = gain.added, gain.identity
        rules = [rule for held in gain.owned for rule in held.rules.rules]
        catalogue, others = catalogue_of(self.after.snapshot), self._others

        def allowed(ask: Attributes) -> bool:
            return any(rule_allows(rule, ask) for rule in rules) or others.authorize(ask).allowed

        where: dict[str, str] = {"namespace": added.binding.namespace, "new_namespace": self._new_namespace}
        for each in gain.coverage.uncovered:
            access = request_of_class(each, added.rule, identity, allowed, catalogue, **where)
            if access is not None:
                subject = holder_text(added.principal)
                reason = grant_text(added.binding, added.role, added.number, added.rule)
                return AccessCounterexample(identity, subject, access, reason)
        modes = ", ".join(other.mode for other in others.others)
        self.undecided.append(
            f"{display_name(added.binding)} grants {rule_text(added.rule)}, of which the authorizer {modes} may have "
            "allowed all before."
        )
        return None

    def _why_new(self, found: Sequence[AccessCounterexample]) -> str:
        first, others = found[0], [each.subject for each in found[1:]]
        more = f" {', '.join(others)} {'gain' if len(others) > 1 else 'gains'} access, too." if others else ""
        how = "Access reviews on forks of both sides confirm it." if first.executed else "The authorizers confirm it."
        return (
            f"{first.subject} gains access: {first.reason}. Before, no binding of {first.sender} allowed to "
            f"{first.access}. {how}{more}"
        )

    def _why_covered(self, gains: Sequence[_Gain]) -> str:
        bindings, roles = self._now.changes(self._was)
        changed = f"{counted(bindings, 'binding')} and {counted(roles, 'role')} changed"
        if not gains:
            return f"{changed}, and none of them grants a rule to a subject to which it did not grant it before."
        classes = sum(gain.coverage.classes for gain in gains)
        held = {holder_text(gain.added.principal) for gain in gains}
        example = next((gain.row("")[-1][0] for gain in gains if gain.coverage.used), "")
        by = f", for example by {example}" if example else ""
        return (
            f"{changed}, which grants {counted(len(gains), 'rule')} to {counted(len(held), 'subject')}. Every request "
            f"that these rules allow ({classes:,} looked at, which stand for all) was allowed before{by}."
        )
