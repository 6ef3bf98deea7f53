"""Escalation paths from a subject to a goal, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.states import SUBJECTS, AttackState
from simkit.analysis.escalation.table.primitive import Primitive, Variant, primitives
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.rbac.index import NO_MEMBERS
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import Members, text_of
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import InLines, prove_claim
from simkit.meta.errors import SimkitError
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from simkit.analysis.escalation.prove.proof import Proof

COLUMNS: Final = ("step", "primitive", "title", "target", "cost", "granted_by")


@dataclass(frozen=True)
class Step:
    """One primitive with the choices that follow it."""

    edge: Edge
    choices: tuple[Edge, ...] = ()

    @property
    def primitive(self) -> Primitive:
        return self.edge.definition

    @property
    def variant(self) -> Variant:
        return self.edge.variant

    @property
    def source(self) -> AttackState:
        return self.edge.source

    @property
    def target(self) -> AttackState:
        return self.choices[-1].target if self.choices else self.edge.target

    @property
    def becomes(self) -> AttackState | None:
        """The identity that the step gives; None if it gives none."""
        return next((one.target for one in (self.edge, *self.choices) if one.target.kind in SUBJECTS), None)

    @cached_property
    def variables(self) -> dict[str, str]:
        """The values of the variables in requests; later choices override earlier ones."""
        found: dict[str, str] = {}
        for edge in (self.edge, *self.choices):
            found.update((name, value) for name, value in edge.variables if value != "*" or name not in found)
        return found

    @property
    def cost(self) -> float:
        return self.edge.cost

    def __str__(self) -> str:
        detail = self.edge.value("detail")
        return f"{self.primitive.id} {self.primitive.title}" + (f" ({detail})" if detail else "") + f" -> {self.target}"


@dataclass(frozen=True, repr=False)
class Path(InLines):
    """A path by which a subject reaches a goal, step by step. It is a claim until ``prove`` executes it."""

    goal: Goal
    edges: tuple[Edge, ...]
    start: AttackState
    sandbox: Sandbox | None = field(default=None, compare=False)
    """The sandbox that proves it by default."""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The primitives of the path, in order."""
        steps: list[Step] = []
        for edge in self.edges:
            if edge.primitive:
                steps.append(Step(edge))
            elif steps:
                steps[-1] = Step(steps[-1].edge, (*steps[-1].choices, edge))
        return tuple(steps)

    @property
    def subject(self) -> str:
        """The subject at the start, as text."""
        return str(self.start)

    @property
    def end(self) -> AttackState:
        return self.edges[-1].target if self.edges else self.start

    @property
    def hops(self) -> int:
        """The number of steps in which the attacker has to do something, which others such as K0 follow at no cost."""
        return sum(edge.hops for edge in self.edges)

    @property
    def cost(self) -> float:
        return sum(edge.cost for edge in self.edges)

    @property
    def primitives(self) -> tuple[str, ...]:
        """The ids of the primitives, in order."""
        return tuple(step.primitive.id for step in self.steps)

    @property
    def way(self) -> tuple[tuple[str, str], ...]:
        """The steps with their targets, which several subjects may have in common."""
        return tuple((step.primitive.id, str(step.target)) for step in self.steps)

    @property
    def words(self) -> str:
        """The steps in words, each with the id of its primitive."""
        return primitive_words(self.primitives) or "already there"

    @property
    def severity(self) -> Severity:
        """The severity of the worst primitive of the path."""
        return max((step.primitive.severity for step in self.steps), default=Severity.INFO)

    @property
    def grants(self) -> tuple[tuple[GrantSource, ...], ...]:
        """The grants that the path needs, in order: for each requirement the sources that each meet it alone."""
        return tuple(requirement for edge in self.edges for requirement in edge.granted_by if requirement)

    def prove(self, sandbox: Sandbox | None = None, *, members: Members = NO_MEMBERS) -> Proof:
        """Execute the path on a fork of a cluster: see ``prove``. Raises SimkitError if no cluster is known."""
        where = sandbox or self.sandbox
        if where is None:
            raise SimkitError("a path is proven on a cluster: path.prove(simkit.load(...))")
        proof: Proof = prove_claim(self, where, members=members)
        return proof

    def to_frame(self) -> DataFrame:
        """One row per step: step, primitive, title, target, cost, granted_by (the first source of each requirement)."""
        rows = [
            (
                *(number, step.primitive.id, step.primitive.title, str(step.target), step.cost),
                tuple(source_text(requirement[0]) for requirement in step.edge.granted_by if requirement),
            )
            for number, step in enumerate(self.steps, 1)
        ]
        return table(rows, COLUMNS)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The path as a picture, in a figure of its own unless axes are given."""
        from simkit.analysis.plots.paths import paths_figure

        return paths_figure([self], ax=ax)

    def lines(self) -> Iterator[str]:
        """The path, line by line."""
        length = f"{counted(len(self.steps), 'step')}, {counted(self.hops, 'hop')}"
        yield f"{self.subject} -> {self.goal}: {length}, cost {self.cost:g}"
        for number, step in enumerate(self.steps, 1):
            yield f"{number}. {step}"
            for requirement in step.edge.granted_by:
                for source in requirement[:1]:
                    yield f"     by {source_text(source)}" + (
                        f" and {len(requirement) - 1} more" if len(requirement) > 1 else ""
                    )


def primitive_words(identifiers: Iterable[str]) -> str:
    """Primitives as text: title and id.

    Examples
    --------
    >>> primitive_words(("D5", "C5"))
    'Runs commands in running pods (D5), Requests tokens of service accounts (C5)'
    """
    return ", ".join(f"{primitives().primitive(one).title} ({one})" for one in identifiers)


def by_way(paths: Iterable[Path]) -> dict[tuple[tuple[str, str], ...], list[Path]]:
    """Paths with the same steps and targets together, in the order of the first of each."""
    found: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for path in paths:
        found.setdefault(path.way, []).append(path)
    return found


def source_text(source: GrantSource) -> str:
    """A grant as text: the binding, its role, the rule and the bound subject."""
    return (
        f"{display_name(source.binding)} ({display_name(source.role)}, rule {source.rule}) to {text_of(source.subject)}"
    )


def shortest_first(paths: Iterable[Path]) -> Sequence[Path]:
    """Paths by subject, then by length."""
    return sorted(paths, key=lambda path: (path.hops, path.cost, path.subject, path.goal.name))
