"""Escalation paths that go the same way, told once for all who go it, with a proof of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from simkit.analysis import Cause, Causes, Path, Proof
    from simkit.analysis.rbac.subject import Members
    from simkit.snapshot.dump import Dump


@dataclass(frozen=True)
class PathGroup:
    """Paths of one cause with the same steps. ``path`` is the one that is shown; ``proofs`` are of some or all."""

    id: str
    cause: Cause
    path: Path
    paths: tuple[Path, ...]
    proofs: tuple[Proof, ...]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects at the start of the paths."""
        return tuple(dict.fromkeys(path.subject for path in self.paths))

    @property
    def goals(self) -> tuple[str, ...]:
        """The goals of the paths."""
        return tuple(dict.fromkeys(path.goal.name for path in self.paths))

    @property
    def executed(self) -> int:
        """The number of executed paths."""
        return len(self.proofs)

    @property
    def verdicts(self) -> dict[str, int]:
        """The numbers of executed paths by outcome."""
        from simkit.analysis.escalation.prove.proof import tally

        return tally(self.proofs)

    @property
    def proof(self) -> dict[str, Any] | None:
        """The requests of one proof with their answers."""
        if not self.proofs:
            return None
        shown = next((proof for proof in self.proofs if proof.proven), self.proofs[0])
        return {"subject": shown.path.subject, "reason": shown.reason, **shown.record(), "verdict": shown.verdict}

    def steps(self) -> list[dict[str, Any]]:
        """The steps: what is done, where it leads, by which grant."""
        from simkit.analysis.escalation.find.path import source_text
        from simkit.analysis.findings.references import references

        return [
            {
                "primitive": step.primitive.id,
                "title": step.primitive.title,
                "severity": step.primitive.severity.word,
                "target": str(step.target),
                "granted_by": [source_text(need[0]) for need in step.edge.granted_by if need],
                "mitigation": step.primitive.mitigation,
                "references": references(step.primitive.id),
            }
            for step in self.path.steps
        ]


def grouped(causes: Causes, dump: Dump, members: Members, *, every: bool, first: int) -> list[PathGroup]:
    """The paths of causes by the way that they go, in the order of the causes.

    Parameters
    ----------
    every
        Whether all paths are executed; else one of each of the first causes.
    first
        How many causes have a path executed.
    """
    from simkit.analysis.escalation.find.path import by_way
    from simkit.analysis.escalation.prove.proof import prove_all
    from simkit.cluster.cluster import Cluster

    chosen: list[tuple[Cause, list[Path], list[Path]]] = []
    for place, cause in enumerate(one for one in causes if one.paths):
        for number, some in enumerate(sorted(by_way(cause.paths).values(), key=len, reverse=True)):
            chosen.append((cause, some, some if every else some[:1] if place < first and not number else []))
    wanted = [path for _, _, paths in chosen for path in paths]
    proofs = iter(prove_all(wanted, Cluster.of(dump), members=members))
    return [
        PathGroup(_id(cause, some[0]), cause, some[0], tuple(some), tuple(islice(proofs, len(paths))))
        for cause, some, paths in chosen
    ]


def _id(cause: Cause, path: Path) -> str:
    """A short hash of a cause and a way; it changes only with one of them."""
    return stable_id("p", str(cause.key), *(f"{step.primitive.id} {step.target}" for step in path.steps))


def stable_id(letter: str, *parts: str) -> str:
    """An id for links that is the same in the next report."""
    return f"{letter}-{sha256(orjson.dumps(parts)).hexdigest()[:12]}"
