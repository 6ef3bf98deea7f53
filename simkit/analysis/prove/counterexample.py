"""A request that contradicts a claim about all requests, and its execution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from simkit.analysis.least_privilege.recorded_access import Action, may
from simkit.analysis.prove.answer import NotReproduced
from simkit.analysis.rbac.index import chain_of, index_of
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.tables import rule_text
from simkit.logic.authorizers.chain import AuthorizerChain
from simkit.logic.rbac.binding import CLUSTER_ROLES, key_of
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, name_of
from simkit.seams.snapshot import Sandbox, Snapshot


@dataclass(frozen=True)
class AccessCounterexample:
    """A request whose answer contradicts a claim.

    Attributes
    ----------
    identity
        The sender, with all groups.
    subject
        The user or the group that has, or lacks, the access, as text.
    access
        What is asked for.
    reason
        The binding, the role and the rule that allow it, or that none does.
    allowed
        Whether it is allowed.
    executed
        Whether access reviews on forks showed it; otherwise the authorizers of snapshots did.
    """

    identity: Identity
    subject: str
    access: Action
    reason: str
    allowed: bool = True
    executed: bool = False

    def __str__(self) -> str:
        word = "can" if self.allowed else "cannot"
        return f"{self.subject} {word} {self.access}: {self.reason}"

    @property
    def request(self) -> str:
        """What is asked for, in words."""
        return str(self.access)

    @property
    def sender(self) -> str:
        """The sender in words: the subject, and the groups that go with it."""
        groups = [group for group in self.identity.groups if f"group:{group}" != self.subject]
        return f"{self.subject} (with the groups {', '.join(groups)})" if groups else self.subject


def grant_text(binding: Key, role: Key, number: int, rule: Rule) -> str:
    """A grant in words: the binding, the role and the rule."""
    return f"{display_name(binding)} grants {display_name(role)}, rule {number} ({rule_text(rule)})"


@dataclass(frozen=True)
class ReviewedSide:
    """A cluster, or the snapshot of one, that is asked whether requests are allowed.

    Attributes
    ----------
    where
        The cluster, of which a fork is asked, or a snapshot.
    snapshot
        Its objects.
    unsettled
        Aggregated roles as the controller will write them, which it has not done yet.
    """

    where: Sandbox | Snapshot
    snapshot: Snapshot
    unsettled: tuple[Object, ...] = ()

    @property
    def executes(self) -> bool:
        """True if requests are executed on a fork."""
        return isinstance(self.where, Sandbox)

    def answers(self, asked: Iterable[tuple[Action, Identity]]) -> list[bool]:
        """Whether each request of an identity is allowed."""
        if not isinstance(self.where, Sandbox):
            chain = self._settled_chain()
            return [chain.authorize(access.ask(identity)).allowed for access, identity in asked]
        fork = self.where.fork()
        for role in self.unsettled:
            path = f"/apis/{RBAC_GROUP}/v1/clusterroles/{name_of(role)}"
            response = fork.perform(Request.of("PUT", path, role), identity=administrator())
            if not response.succeeded:
                raise NotReproduced(f"the rules of the aggregated role {name_of(role)} could not be written")
        return [may(fork, identity, access) for access, identity in asked]

    def _settled_chain(self) -> AuthorizerChain:
        """The authorizers of the snapshot, once the controller has filled aggregated roles."""
        if not self.unsettled:
            return chain_of(self.snapshot)
        index = index_of(self.snapshot).fork()
        for role in self.unsettled:
            index.put(key_of(role, CLUSTER_ROLES), role)
        return AuthorizerChain(self.snapshot, index)


def reproduced(
    found: Sequence[AccessCounterexample], after: ReviewedSide, before: ReviewedSide | None = None
) -> tuple[AccessCounterexample, ...]:
    """The counterexamples, executed: answered as they say on one side, and, if another is given, refused on that one.

    Raises
    ------
    NotReproduced
        Where the server answers otherwise.
    """
    asked = [(each.access, each.identity) for each in found]
    now = after.answers(asked)
    was = before.answers(asked) if before is not None else [False] * len(asked)
    for each, allowed_now, allowed_before in zip(found, now, was, strict=True):
        if allowed_now is not each.allowed:
            raise NotReproduced(f"the server does not confirm it: {each}")
        if allowed_before:
            raise NotReproduced(f"the server allowed it before: {each}")
    executed = after.executes and (before is None or before.executes)
    return tuple(replace(each, executed=executed) for each in found)
