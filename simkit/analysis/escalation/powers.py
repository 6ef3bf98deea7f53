"""The primitives that a subject's grants amount to, whether or not there is something to use them on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pandas as pd

from simkit.analysis.access import NO_MEMBERS
from simkit.analysis.escalation.closure import nowhere, place_of
from simkit.analysis.escalation.goal import Goal
from simkit.analysis.escalation.graph import IMPERSONATION, EscalationGraph, graph_of
from simkit.analysis.escalation.harmless import why_harmless
from simkit.analysis.escalation.path import Path, source_text
from simkit.analysis.escalation.place import PODS
from simkit.analysis.escalation.primitive import Primitive
from simkit.analysis.escalation.search import one_of
from simkit.analysis.escalation.solution import Holder, Solution, solutions
from simkit.analysis.frames import table
from simkit.analysis.subject import Members
from simkit.logic.rbac.binding import Subject
from simkit.meta.errors import SimkitError
from simkit.snapshot.protocol import Sandbox, Snapshot

COLUMNS: Final = (
    *("primitive", "class", "severity", "title", "namespaces", "flagged"),
    *("verdict", "reason", "leads_to", "granted_by", "mitigation"),
)
HARMLESS: Final = ("limited", "state")
"""Classes that are told of and not flagged: by themselves they give and harm nothing."""


def powers(
    snapshot: Snapshot,
    subject: Subject | str,
    *,
    sandbox: Sandbox | None = None,
    members: Members = NO_MEMBERS,
) -> pd.DataFrame:
    """Every primitive whose needs a subject meets, by all its grants together.

    Parameters
    ----------
    sandbox
        Where to execute what can be executed: the verdict is then ``proven``, ``refused`` or ``not executed``.

    Returns
    -------
    DataFrame
        One row per primitive: primitive (its id), class, severity, title; namespaces where its needs are met (``*``:
        everywhere); flagged, False for what gives and harms nothing by itself: also where the grant is for single names
        that are not there, or leads to roles only that give nothing that matters; verdict (``unproven`` without a
        sandbox) and the reason where it is not proven; leads_to; granted_by, the first source of each need;
        mitigation.
    """
    graph = graph_of(snapshot, members)
    holder = graph.holder(place_of(graph, subject))
    if holder is None:
        raise SimkitError(f"{subject} holds no grants of its own; name a user, a group or a service account")
    holder = replace(holder, own=None)
    rows = [
        _row(graph, holder, primitive, found, sandbox, members)
        for primitive in graph.candidates(holder, of_other_releases=True)
        for found in (list(_met(graph, holder, primitive)),)
        if found
    ]
    return table(rows, COLUMNS).astype({"flagged": bool})


def _met(graph: EscalationGraph, holder: Holder, primitive: Primitive) -> Iterator[Solution]:
    if holder.place.worn and primitive.id in IMPERSONATION:
        return
    for number, way in enumerate(primitive.ways):
        if way.needs and not (way.when == "bound-to-cluster-admin" and not any(graph.found(holder, primitive, number))):
            yield from solutions(primitive, number, holder.held, graph.release)


def _path(graph: EscalationGraph, holder: Holder, primitive: Primitive) -> Path | None:
    """One use of a primitive, as a path of one step; None where there is nothing to use it on."""
    edge = next(graph.uses(holder, primitive), None)
    if edge is None:
        return None
    end = edge.target
    path = Path(Goal(str(end), nowhere), (edge, *one_of(graph, end, holder.place)), holder.place)
    return None if path.end.kind == PODS else path  # a set of pods without any pod


def _row(
    graph: EscalationGraph,
    holder: Holder,
    primitive: Primitive,
    found: list[Solution],
    sandbox: Sandbox | None,
    members: Members,
) -> tuple[Any, ...]:
    harmless = primitive.mitigation if primitive.kind in HARMLESS else why_harmless(graph, holder, primitive, found)
    path = _path(graph, holder, primitive)
    verdict, reason = _verdict(primitive, path, harmless, sandbox, members)
    granted = [source_text(some[0]) for some in found[0].sources({"namespace": found[0].namespace}) if some]
    return (
        *(primitive.id, primitive.kind, primitive.severity, primitive.title),
        tuple(dict.fromkeys(one.namespace for one in found)),
        not harmless and primitive.holds_in(graph.release),
        *(verdict, reason, str(path.steps[-1].target) if path else ""),
        *(tuple(dict.fromkeys(granted)), primitive.mitigation),
    )


def _verdict(
    primitive: Primitive, path: Path | None, harmless: str, sandbox: Sandbox | None, members: Members
) -> tuple[str, str]:
    if primitive.why_not:
        return "not executed", primitive.why_not
    if path is None:
        if harmless:
            return "harmless", harmless
        return "not executed", "there is nothing in the cluster to use it on"
    if sandbox is None:
        return "unproven", harmless
    proof = path.prove(sandbox, members=members)
    return proof.verdict, proof.reason or harmless
