"""The answer to a question about all requests, or all objects: PASS, FAIL with counterexamples, or UNKNOWN.

A proof about roles and bindings says less of a cluster whose other authorizers decide, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from simkit.analysis.caveats import caveats_of
from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.result import InLines
from simkit.logic.authorizers.chain import RBAC
from simkit.logic.authorizers.node_graph import FOLLOWED
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.meta.visible_text import html_text
from simkit.present.colours import GREEN, VERMILION
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.prove.object_claim import ObjectCounterexample
    from simkit.analysis.prove.permission import AccessCounterexample
    from simkit.analysis.prove.reachable import PathCounterexample

Verdict = Literal["PASS", "FAIL", "UNKNOWN"]
PASS: Final = "PASS"
FAIL: Final = "FAIL"
UNKNOWN: Final = "UNKNOWN"


class NotReproduced(RuntimeError):
    """A counterexample that did not reproduce when it was executed. This is a fault of simkit, and never an answer."""


@dataclass(frozen=True, repr=False)
class ProofAnswer(InLines):
    """The answer to a claim about all requests or all objects. In a condition it is true only if it is PASS.

    Attributes
    ----------
    claim
        The claim in words.
    verdict
        ``PASS``: it holds for every case. ``FAIL``: ``counterexamples`` contradict it. ``UNKNOWN``: it was not
        decided, and ``why`` gives the reason.
    why
        The reason in one paragraph.
    counterexamples
        The cases that contradict the claim, each with ``subject``, ``request``, ``reason`` and ``executed``; empty
        unless the verdict is FAIL.
    cases
        The classes of cases that were looked at, as a table.
    """

    claim: str
    verdict: Verdict
    why: str
    counterexamples: tuple[AccessCounterexample | ObjectCounterexample | PathCounterexample, ...] = ()
    cases: pd.DataFrame = field(default_factory=ReadableFrame, repr=False, compare=False)

    @property
    def passed(self) -> bool:
        """True if the claim holds for every case."""
        return self.verdict == PASS

    def __bool__(self) -> bool:
        return self.passed

    def to_frame(self) -> pd.DataFrame:
        """The classes of cases that were looked at, one per row; counterexamples come first."""
        return self.cases

    def summary(self) -> pd.DataFrame:
        """One row: claim, verdict, why."""
        return ReadableFrame([(self.claim, self.verdict, self.why)], columns=["claim", "verdict", "why"])

    def lines(self) -> Iterator[str]:
        """The verdict, the reason and the counterexamples, line by line."""
        yield f"{self.verdict}  {self.claim}"
        yield f"  {self.why}"
        yield from (f"  counterexample: {text}" for text in self._told_below())

    def _told_below(self) -> list[str]:
        """The counterexamples but for the one that the reason tells."""
        return [text for text in map(str, self.counterexamples) if text not in self.why]

    def _repr_html_(self) -> str:
        """The verdict and the reason, above the cases, which open on a click."""
        colour = {PASS: GREEN, FAIL: VERMILION}.get(self.verdict, "inherit")
        head = f'<p style="color:{colour}"><b>{html_text(f"{self.verdict} {self.claim}")}</b></p>'
        told = "".join(f"<li>{html_text(text)}</li>" for text in self._told_below())
        table = ReadableFrame(self.cases)._repr_html_()
        opened = f"<details><summary>{len(self.cases)} cases</summary>{table}</details>" if len(self.cases) else ""
        return f"{head}<p>{html_text(self.why)}</p><ul>{told}</ul>{opened}"


ALWAYS_ALLOW: Final = "AlwaysAllow"


def undecided(snapshot: Snapshot) -> str:
    """The reason for which nothing can be proven from roles and bindings of a cluster; empty if something can."""
    authorization = snapshot.authorization
    unknown = [mode for mode in authorization.modes if mode not in authorization.decided]
    if unknown:
        named = " and ".join(unknown)
        return (
            f"The decisions of the authorizer {named} are not in the cluster's objects, and it may allow or deny more."
        )
    if RBAC not in authorization.modes:
        named = ", ".join(authorization.modes)
        return f"RBAC is not among the authorizers ({named}), so roles and bindings grant nothing."
    if ALWAYS_ALLOW in authorization.modes:
        return "The authorizer AlwaysAllow allows everything to everybody, whatever roles and bindings say."
    return ""


def different(before: Snapshot, after: Snapshot) -> str:
    """The reason for which authorizers besides RBAC may have come to allow more; empty if they have not.

    The decisions of the Node authorizer follow from the pods, volumes and attachments of each node, and from the
    release; those of ABAC from its policy file.
    """
    first, second = before.authorization, after.authorization
    if first.modes != second.modes:
        return f"The authorizers differ: {', '.join(first.modes)} before, {', '.join(second.modes)} after."
    if first.policies != second.policies:
        return "The policy files of the authorizer ABAC differ."
    if "Node" not in first.modes:
        return ""
    if before.release != after.release or dict(first.feature_gates) != dict(second.feature_gates):
        return "The releases or feature gates differ, by which the Node authorizer decides about kubelets."
    moved = sorted(resource.resource for resource in FOLLOWED if not _same(before, after, resource))
    if moved:
        return f"Different {', '.join(moved)} let the Node authorizer allow kubelets other objects than before."
    return ""


def _same(before: Snapshot, after: Snapshot, resource: GroupResource) -> bool:
    if resource not in before.captured() or resource not in after.captured():
        return resource not in before.captured() and resource not in after.captured()
    return list(_decisive(before.scan(resource))) == list(_decisive(after.scan(resource)))


def _decisive(objects: Iterable[Object]) -> Iterator[tuple[Object, Object]]:
    """What the Node authorizer looks at: names and specifications."""
    for obj in objects:
        metadata = obj.get("metadata") or {}
        yield {name: metadata.get(name) for name in ("name", "namespace", "annotations")}, obj.get("spec") or {}


def scope_caveats(snapshots: Iterable[Snapshot]) -> tuple[Caveat, ...]:
    """The limits of what the snapshots show, each once."""
    return tuple(dict.fromkeys(caveat for snapshot in snapshots for caveat in caveats_of(snapshot)))
