"""Expectations about access, read from a file and checked: who must have a permission, and who must never."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, overload

from pydantic import BaseModel, ConfigDict, Field, model_validator

from simkit.analysis.access.can import can
from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.model_file import model_of_file
from simkit.analysis.prove.answer import ProofAnswer
from simkit.analysis.prove.invariants import always_permitted, never_holds
from simkit.analysis.prove.permission import AskedPermission, claim_of, permission_named
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted, html_lines
from simkit.analysis.result import Result
from simkit.meta.visible_text import html_text
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    from pandas import DataFrame

OneOrMore = Annotated[tuple[str, ...], Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        """A list in place of a single word."""
        if isinstance(value, dict):
            lists = ("verb", "subject", "except", "by")
            return {key: [item] if key in lists and isinstance(item, str) else item for key, item in value.items()}
        return value


class Access(_Model):
    """A verb on a resource. Without ``namespace`` it may be anywhere, ``*`` is the whole cluster at once."""

    verb: OneOrMore
    resource: str = ""
    name: str = ""
    namespace: str | None = None
    url: str = ""

    def __str__(self) -> str:
        what = self.url or (f"{self.resource} {self.name}".rstrip())
        where = "" if self.namespace is None else f" in {self.namespace or 'the whole cluster'}"
        return f"{'/'.join(self.verb)} {what}{where}"


class SubjectAccess(Access):
    """Access of some subjects: ``user:ann``, ``group:devs``, ``sa:namespace/name``."""

    subject: OneOrMore
    groups: tuple[str, ...] = ()
    """Groups of the subjects besides those that the server implies."""


class Never(_Model):
    """A permission that nobody has, or a goal that nobody reaches, but the excepted.

    Exceptions may hold ``*``: ``group:oidc:platform``, ``sa:payments/*``. Goals are named as in
    ``simkit.analysis.escalation``.
    """

    verb: tuple[str, ...] = ()
    resource: str = ""
    name: str = ""
    namespace: str | None = None
    url: str = ""
    goal: str = ""
    within_hops: int = Field(0, ge=0)
    """The greatest number of escalation steps that count."""
    excepted: tuple[str, ...] = Field((), alias="except")

    @model_validator(mode="after")
    def _permission_or_goal(self) -> Never:
        permission = self.verb or self.resource or self.name or self.url or self.namespace is not None
        if bool(permission) == bool(self.goal) or (permission and not self.verb):
            raise ValueError("give either verb and resource (or url), or goal")
        return self


class Always(Access):
    """Access that one of some subjects has, or anybody where none is given."""

    by: tuple[str, ...] = ()


class Expectation(_Model):
    """One expectation: exactly one of ``can``, ``cannot``, ``never`` and ``always``."""

    name: str
    can: SubjectAccess | None = None
    cannot: SubjectAccess | None = None
    never: Never | None = None
    always: Always | None = None
    severity: Severity = Severity.HIGH

    @model_validator(mode="after")
    def _exactly_one(self) -> Expectation:
        if sum(each is not None for each in (self.can, self.cannot, self.never, self.always)) != 1:
            raise ValueError("give exactly one of can, cannot, never and always")
        return self


class Suite(_Model):
    """A file of expectations."""

    expectations: tuple[Expectation, ...] = Field(min_length=1)

    def at_least(self, severity: Severity | str) -> Suite:
        """The expectations of a severity or worse."""
        level = Severity.named(severity) if isinstance(severity, str) else severity
        return self.model_copy(update={"expectations": tuple(e for e in self.expectations if e.severity >= level)})

    def _repr_html_(self) -> str:
        """The names of the expectations with their severities."""
        told = (f"{each.severity}: {each.name}" for each in self.expectations)
        return html_lines([counted(len(self.expectations), "expectation"), *told])


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one expectation; ``failures`` name the subjects that differ from it, with the reason."""

    expectation: Expectation
    failures: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        return not self.failures


class Outcomes(Result, Sequence[Outcome]):
    """The outcomes of a suite's expectations, in order; ``passed`` is true if all are met."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._outcomes = tuple(outcomes)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome]: ...

    def __getitem__(self, index: int | slice) -> Outcome | Sequence[Outcome]:
        return self._outcomes[index]

    def __len__(self) -> int:
        return len(self._outcomes)

    @property
    def passed(self) -> bool:
        """True if all expectations are met."""
        return all(outcome.passed for outcome in self._outcomes)

    def to_frame(self) -> DataFrame:
        """One row per expectation: met, severity, expectation, failures (a tuple of sentences)."""
        rows = [(each.passed, each.expectation.severity, each.expectation.name, tuple(each.failures)) for each in self]
        return table(rows, ("met", "severity", "expectation", "failures"))

    def __repr__(self) -> str:
        broken = sum(not each.passed for each in self)
        head = f"<{len(self)} expectations, {broken} broken" if broken else f"<{len(self)} expectations, all met"
        told = [f"  {each.expectation.name}: {failure}" for each in self for failure in each.failures]
        return "\n".join([head, *told]) + ">"

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li>{'✓' if each.passed else '✗'} {html_text(each.expectation.name)}"
            f"{''.join(f'<br><small>{html_text(failure)}</small>' for failure in each.failures)}</li>"
            for each in self
        )
        return f"<ul>{items}</ul>"


def read_suite(path: str | Path) -> Suite:
    """The suite in a YAML or JSON file.

    Parameters
    ----------
    path
        A YAML or JSON file of expectations.

    Returns
    -------
    Suite
        The expectations of the file.

    Raises
    ------
    SimkitError
        For a file that is no suite: it names the entry and what is wrong with it.

    Examples
    --------
    A file such as::

        expectations:
        - name: the deployer can deploy
          can: {subject: "sa:ci/deployer", verb: patch, resource: deployments, namespace: apps}
        - name: nobody outside platform reads secrets of payments
          never: {verb: [get, list, watch], resource: secrets, namespace: payments, except: "group:oidc:platform"}
        - name: nobody outside platform gets to cluster-admin in three steps
          never: {goal: cluster-admin, within_hops: 3, except: ["group:oidc:platform", "sa:kube-system/*"]}
    """
    return model_of_file(path, Suite)


@about_access()
def check(snapshot: Snapshot, suite: Suite | str | Path, *, sandbox: Sandbox | None = None) -> Outcomes:
    """The outcome of every expectation, in order. Raises IncompleteSnapshot where roles or bindings are missing.

    Parameters
    ----------
    suite
        What ``read_suite`` reads, or the path of such a file.
    sandbox
        The cluster on forks of which counterexamples to ``never`` and ``always`` are executed.

    Returns
    -------
    Outcomes
        One outcome per expectation, in order; ``.passed`` tells whether all are met. What was not decided is not met.

    Raises
    ------
    SimkitError
        Where the file is no suite, or an expectation names what is not there.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> from simkit.analysis import Suite
    >>> never = {"verb": ["get"], "resource": "secrets", "except": ["sa:kube-system/*", "user:system:*"]}
    >>> cluster.check(Suite(expectations=[{"name": "secrets are kept", "never": never}])).passed
    True
    """
    known = suite if isinstance(suite, Suite) else read_suite(suite)
    return Outcomes(Outcome(each, tuple(_failures(snapshot, each, sandbox))) for each in known.expectations)


def _failures(snapshot: Snapshot, expectation: Expectation, sandbox: Sandbox | None) -> Iterator[str]:
    if expectation.can is not None:
        yield from _asked(snapshot, expectation.can, wanted=True)
    elif expectation.cannot is not None:
        yield from _asked(snapshot, expectation.cannot, wanted=False)
    elif expectation.never is not None:
        for answer in _never(snapshot, expectation.never, sandbox):
            yield from _refuted(answer)
    elif expectation.always is not None:
        for permission in _permissions(snapshot, expectation.always):
            yield from _refuted(always_permitted(snapshot, permission, by=expectation.always.by, sandbox=sandbox))


def _never(snapshot: Snapshot, wanted: Never, sandbox: Sandbox | None) -> Iterator[ProofAnswer]:
    hops = wanted.within_hops
    for claim in [claim_of(snapshot, wanted.goal)] if wanted.goal else _permissions(snapshot, wanted):
        yield never_holds(snapshot, claim, except_=wanted.excepted, within_hops=hops, sandbox=sandbox)


def _permissions(snapshot: Snapshot, wanted: Never | Always) -> Iterator[AskedPermission]:
    for verb in wanted.verb:
        yield permission_named(
            snapshot, verb, wanted.resource, name=wanted.name, namespace=wanted.namespace, url=wanted.url
        )


def _refuted(answer: ProofAnswer) -> Iterator[str]:
    """The counterexamples to a claim; the reason where it was not decided."""
    if not answer.passed:
        yield from (str(each) for each in answer.counterexamples) if answer.counterexamples else [answer.why]


def _asked(snapshot: Snapshot, access: SubjectAccess, *, wanted: bool) -> Iterator[str]:
    for subject in access.subject:
        for verb in access.verb:
            answer = can(
                snapshot,
                subject,
                verb,
                access.resource,
                name=access.name,
                namespace=access.namespace or None,
                url=access.url,
                groups=access.groups,
            )
            if answer.unknown or bool(answer) is not wanted:
                word = "may be able to" if answer.unknown else "can" if answer else "cannot"
                reason = answer.unknown or answer.reason or next(answer.explanation())
                yield f"{subject} {word} {verb} {access.url or access.resource}: {reason}"
