"""Proofs: paths executed on a fork, with every request, every answer, and the check of the goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import Escalations
from simkit.analysis.escalation.find.states import AttackState, role_of
from simkit.analysis.escalation.prove.attacker import Attacker, Question
from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork
from simkit.analysis.escalation.prove.session import Performed, Refused
from simkit.analysis.forked import on_all_cores
from simkit.analysis.least_privilege.recorded_access import Action, may
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.subject import Members, groups_in, identity_of
from simkit.analysis.rbac.tables import records, table
from simkit.analysis.rendering import counted
from simkit.analysis.result import Evidence, InLines, Result, proven
from simkit.logic.rbac.binding import CLUSTER_ROLES
from simkit.logic.rbac.cover import breakdown
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.visible_text import one_line
from simkit.present.colours import GREEN, ORANGE, SKY, VERMILION
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    import pandas as pd


READING: Final = ("get", "list", "watch", "patch", "deletecollection")


def goal_question(path: Path, attacker: Attacker, before: Sandbox) -> Question | None:
    """The review that shows that the end of a path was reached; None if that is no access, as with a node's disk."""
    if path.steps and path.steps[-1].variant.check is not None and path.end.kind == states.IMPACT:
        return _others(path, attacker, before)
    if path.end.kind == states.SECRETS:
        return _of_secrets(path)
    if path.goal.question is not None:
        return Action.of(path.goal.question(graph_of(before.snapshot()))), None
    if path.goal.access is not None:
        return path.goal.access, None
    return _at(path, attacker)


def _others(path: Path, attacker: Attacker, before: Sandbox) -> Question | None:
    """The review of access that others gained by the last step."""
    step = path.steps[-1]
    check = step.variant.check
    assert check is not None
    who = identity_of(step.variables["beneficiary"]) if check.by == "beneficiary" else attacker.session.credential.seen
    if not check.gained:
        return Action(check.verb, check.group, check.resource, namespace=step.variables.get("scope", "")), who
    role = before.snapshot().get(CLUSTER_ROLES, step.variables["role"]) or {}
    for access in _accesses(rules_of(role), step.variables.get("scope", "")):
        if not may(before, who, access):
            return access, who
    return None


def _accesses(rules: tuple[Rule, ...], namespace: str) -> Iterator[Action]:
    """Single actions about resources that some rules allow."""
    pieces = (piece for rule in rules for piece in breakdown(rule) if piece.resources)
    return (Action.of_piece(piece, namespace) for piece in pieces)


def _of_secrets(path: Path) -> Question | None:
    """The verb by which secrets were read; None if a pod of the attacker mounted them, as the answer showed."""
    for permission in path.steps[-1].edge.permissions if path.steps else ():
        if permission.resource == "secrets" and permission.verb in READING:
            where = SYSTEM_NAMESPACE if path.end.namespace == states.ALL else path.end.namespace
            return Action(permission.verb, "", "secrets", "", where, path.end.name), None
    return None


def _at(path: Path, attacker: Attacker) -> Question | None:
    """The review of the access at the end of the path, if that is access."""
    end = path.end
    where = "" if end.namespace == states.ALL else end.namespace
    if end.kind == states.EVERYTHING:
        return Action("*", "*", "*"), None
    if end.kind == states.NAMESPACE and where:
        return Action("*", "*", "*", namespace=where), None
    if end.kind == states.RULES:
        rules = attacker.rules_of_role(role_of(end))
        return next(((access, None) for access in _accesses(rules, where)), None)
    return None


COLUMNS: Final = ("step", "primitive", "actor", "request", "status", "message", "assumption")
_WORTH_A_PROCESS: Final = 5
"""The number of paths that take longer to prove than a process to start."""
SUMMARY_COLUMNS: Final = ("subject", "goal", "verdict", "requests", "assumptions", "primitives", "reason")


@dataclass(frozen=True, repr=False)
class Proof(InLines, Evidence):
    """The result of executing a path. True in a condition only if every step was executed and the goal is granted."""

    path: Path
    outcome: Outcome
    performed: tuple[Performed, ...]
    reason: str = ""
    refused_at: int = 0
    """The number of the step that was refused or could not be executed, from 1; 0 if none."""

    @property
    def proven(self) -> bool:
        """True if the path was executed to its end, perhaps with assumptions."""
        return self.outcome == PROVEN

    @property
    def verdict(self) -> str:
        """``proven``; ``proven, 2 assumed``; ``not proven``; or ``not executed``."""
        return verdict(self.outcome, len(self.assumptions))

    @property
    def counted_as(self) -> str:
        """The verdict without the number of assumptions: ``proven with assumptions``."""
        return ASSUMED if self.proven and self.assumptions else self.outcome

    def __bool__(self) -> bool:
        return self.proven

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumed actions of others, each once."""
        return tuple(dict.fromkeys(one.assumption for one in self.performed if one.assumption))

    def to_frame(self) -> pd.DataFrame:
        """One row per request: step, primitive, actor, request, status, message, assumption."""
        return table(self._rows(), COLUMNS)

    def record(self) -> dict[str, object]:
        """The verdict with its reason, and the requests as mappings, for a page that shows the proof.

        What cannot be seen in names is written out.
        """
        rows = ((one_line(value) if isinstance(value, str) else value for value in row) for row in self._rows())
        verdict = f"{self.verdict}: {one_line(self.reason)}" if self.reason else self.verdict
        return {"verdict": verdict, "requests": records(map(tuple, rows), COLUMNS)}

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for one in self.performed:
            yield one.step, one.primitive, one.actor, one.request, one.status, one.message, one.assumption

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield f"{self.verdict}: {self.path.subject} -> {self.path.goal}" + (f" ({self.reason})" if self.reason else "")
        for one in self.performed:
            yield f"{one.step}. {one.primitive} {one}"
            if one.assumption:
                yield f"     assumed: {one.assumption}"


@dataclass(frozen=True)
class Proofs(Result, Sequence[Proof]):
    """The proofs of several paths; ``proven`` is true if all succeeded."""

    proofs: tuple[Proof, ...]

    def __len__(self) -> int:
        return len(self.proofs)

    def __getitem__(self, number: Any) -> Any:
        return Proofs(self.proofs[number]) if isinstance(number, slice) else self.proofs[number]

    def __iter__(self) -> Iterator[Proof]:
        return iter(self.proofs)

    @property
    def proven(self) -> bool:
        """True if there are proofs and all of them succeeded."""
        return bool(self.proofs) and all(one.proven for one in self.proofs)

    def to_frame(self) -> pd.DataFrame:
        """One row per path: subject, goal, verdict, requests, assumptions, primitives, reason."""
        rows = [
            (
                *(one.path.subject, one.path.goal.name, one.verdict),
                *(sum(bool(each.request) for each in one.performed), len(one.assumptions)),
                *(one.path.primitives, one.reason),
            )
            for one in self.proofs
        ]
        return table(rows, SUMMARY_COLUMNS)

    def summary(self) -> pd.DataFrame:
        """The numbers of paths by outcome: what, count."""
        from simkit.analysis.readable_frame import ReadableFrame

        return ReadableFrame(list(tally(self.proofs).items()), columns=["what", "count"])

    def not_executed(self) -> dict[str, int]:
        """The reasons why paths were not executed, with the number of paths: warnings, and no answers."""
        return dict(Counter(one.reason for one in self.proofs if one.outcome == NOT_EXECUTED).most_common())

    def __str__(self) -> str:
        return f"{counted(len(self.proofs), 'path')}: {tally_text(self.proofs)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from simkit.analysis.readable_frame import ReadableFrame

        return f"<p><b>{self}</b></p>{ReadableFrame(self.to_frame())._repr_html_()}"


def by_outcome(proofs: Sequence[Proof]) -> tuple[tuple[Proof, ...], tuple[Proof, ...], tuple[Proof, ...]]:
    """The proofs that are proven, those that are not, and those that were not executed."""
    proven, refused, unknown = (
        tuple(proof for proof in proofs if proof.outcome == outcome) for outcome in (PROVEN, NOT_PROVEN, NOT_EXECUTED)
    )
    return proven, refused, unknown


def prove_all(paths: Sequence[Path], sandbox: Sandbox, *, members: Members = NO_MEMBERS) -> list[Proof]:
    """The proofs of some paths, each executed on a fork of its own: see ``prove``.

    Paths of one subject with the same steps differ in their goals alone, so that they are executed together. The work
    is shared by all cores where processes can be forked, that is outside of notebooks and servers.
    """
    alike: dict[tuple[AttackState, tuple[Edge, ...]], list[Path]] = {}
    for path in paths:
        alike.setdefault((path.start, path.edges), []).append(path)

    def executed(some: Sequence[Sequence[Path]]) -> list[list[_Executed]]:
        return [_executed(one, sandbox, members) for one in tracked(some, "proving paths")]

    groups = list(alike.values())
    found = on_all_cores(executed, groups, least=_WORTH_A_PROCESS)
    ends = {
        id(path): one for some, each in zip(groups, found, strict=True) for path, one in zip(some, each, strict=True)
    }
    return [Proof(path, *ends[id(path)]) for path in paths]


@proven.register(Escalations)
def prove_each(claim: Escalations, sandbox: Sandbox | None) -> Proofs:
    """The proofs of all paths of a search; no sandbox is needed where it found none."""
    return Proofs(tuple(prove_all(claim.paths, sandbox, members=claim.members)) if sandbox is not None else ())


@proven.register(Path)
def prove(path: Path, sandbox: Sandbox, *, members: Members = NO_MEMBERS) -> Proof:
    """Execute a path on a fork, and check whether the goal is granted at its end.

    Every request goes through authentication of credentials that the fork issued, authorization and admission. What a
    kubelet, a scheduler, a controller or an operator would do is performed in its name and shown as an assumption.
    On simulated nodes kubelets and controllers do it themselves: the attacker's scripts run, and tokens are read from
    what they print. The sandbox itself is not touched, and nothing outside is.

    Parameters
    ----------
    path
        What ``escalations`` finds, or a ``Path`` of one's own.
    sandbox
        A ``simkit.Cluster`` with the objects that the path was found in.
    members
        Groups that the cluster does not keep: the attacker is given those that it is in.

    Returns
    -------
    Proof
        ``proven`` if everything was executed and the goal granted, with the number of assumptions; ``not proven`` with
        the step where the server refused a request; ``not executed`` with the reason where something cannot be
        executed or is missing in the dump, which shows nothing.
    """
    return Proof(path, *_executed((path,), sandbox, members)[0])


class _Executed(NamedTuple):
    """The fields of a proof besides its path, which other processes send."""

    outcome: Outcome
    performed: tuple[Performed, ...]
    reason: str = ""
    refused_at: int = 0


def _executed(paths: Sequence[Path], sandbox: Sandbox, members: Members) -> list[_Executed]:
    """The outcomes of paths with the same start and steps: the steps are taken once, then each goal is checked."""
    first = paths[0]
    groups = groups_in(members, first.start.subject) if members and first.start.subject is not None else ()
    actor = Attacker(ProvingFork(sandbox), first, groups)

    def take_steps() -> None:
        for number, step in enumerate(first.steps, 1):
            actor.take_step(number, step)

    def check_goal(path: Path) -> None:
        del actor.session.performed[len(taken.performed) :]
        actor.finish(goal_question(path, actor, sandbox))

    taken = _outcome(actor, take_steps)
    if taken.outcome != PROVEN:
        return [taken] * len(paths)
    return [_outcome(actor, partial(check_goal, path)) for path in paths]


def _outcome(actor: Attacker, act: Callable[[], None]) -> _Executed:
    """The outcome of what an attacker does, with all requests until then."""
    try:
        act()
    except Refused as refused:
        return _Executed(NOT_PROVEN, tuple(actor.session.performed), str(refused), actor.session.number)
    except NotExecutable as unable:
        return _Executed(NOT_EXECUTED, tuple(actor.session.performed), unable.reason, actor.session.number)
    except ModuleNotFoundError as absent:  # in a browser, which signs no certificates
        reason = f"it needs {absent.name}, which is not installed"
        return _Executed(NOT_EXECUTED, tuple(actor.session.performed), reason, actor.session.number)
    return _Executed(PROVEN, tuple(actor.session.performed))


PROVEN: Final = "proven"
ASSUMED: Final = "proven with assumptions"
NOT_PROVEN: Final = "not proven"
NOT_EXECUTED: Final = "not executed"

Outcome = Literal["proven", "not proven", "not executed"]
"""``not proven``: the server refused a request. ``not executed``: nothing is known, since it could not be tried."""
COLOURS: Final = {PROVEN: GREEN, ASSUMED: SKY, NOT_PROVEN: VERMILION, NOT_EXECUTED: ORANGE}


class Executed(Protocol):
    """A proof, as far as it is counted."""

    @property
    def counted_as(self) -> str: ...


def verdict(outcome: Outcome, assumed: int) -> str:
    """The outcome as a text, with the number of assumptions that a proof rests on.

    Examples
    --------
    >>> verdict("proven", 0), verdict("proven", 2), verdict("not executed", 1)
    ('proven', 'proven, 2 assumed', 'not executed')
    """
    return f"{PROVEN}, {assumed} assumed" if outcome == PROVEN and assumed else outcome


def tally(proofs: Iterable[Executed]) -> dict[str, int]:
    """The numbers of proofs by outcome, proofs that rest on assumptions apart: all four words, in order."""
    counts = dict.fromkeys(COLOURS, 0)
    for proof in proofs:
        counts[proof.counted_as] += 1
    return counts


def tally_text(proofs: Iterable[Executed]) -> str:
    """The counts as a text: ``3 proven, 1 not executed``; ``none`` where there are no proofs."""
    return ", ".join(f"{count:,} {word}" for word, count in tally(proofs).items() if count) or "none"
