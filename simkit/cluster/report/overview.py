"""What a report says first: the verdict, how few causes explain most paths, from where the objects come; and paths that
go the same way, told once for all who go it, with a proof of one of them.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.analysis.rbac.objects import NAMESPACES
from simkit.analysis.rendering import counted
from simkit.meta.objects import Object, at

if TYPE_CHECKING:
    from simkit.analysis import Cause, Causes, Finding, Path, Proof
    from simkit.analysis.rbac.subject import Members
    from simkit.snapshot.dump import Dump


CHANGES: Final = 3
"""So many changes of the plan the verdict counts, and the first screen shows."""
TEAM: Final = ("team", "owner")
MOST: Final = 0.9
"""The share of paths that some causes explain together."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_NUMBERS: Final = ("No change closes", "One change closes", "Two changes close", "Three changes close")
_SHARES: Final = {1 / 4: "a quarter", 1 / 3: "a third", 1 / 2: "half", 2 / 3: "two thirds", 3 / 4: "three quarters"}


def verdict(content: Mapping[str, Any]) -> str:
    """The verdict of a report in one or two sentences.

    Examples
    --------
    >>> verdict({"paths": [], "counts": {"critical": 1, "high": 2, "low": 4}})
    'No escalation path was found. 3 findings are critical or high.'
    """
    paths, counts = content["paths"], content["counts"]
    if not paths:
        worst = counts.get("critical", 0) + counts.get("high", 0)
        told = f"{counted(worst, 'finding')} {'is' if worst == 1 else 'are'}" if worst else "No finding is"
        return f"No escalation path was found. {told} critical or high."
    admins = {subject for subject, goal in paths if goal == "cluster-admin"}
    subjects = {subject for subject, _ in paths}
    reached = "cluster-admin" if admins else " or ".join(sorted({goal for _, goal in paths}))
    told = f"{counted(len(admins or subjects), 'subject')} can {'become' if admins else 'reach'} {reached}."
    return f"{told} {_closed(content['plan'])}".strip()


def _closed(plan: Mapping[str, Any]) -> str:
    """What the first changes of a plan close."""
    steps, before = plan["steps"][:CHANGES], plan["before"]["paths"]
    if not steps:
        return ""
    closed = before - steps[-1]["remaining"]
    return f"{_NUMBERS[len(steps)]} {_share(closed, before)} escalation paths."


def _share(part: int, whole: int) -> str:
    """A part of a whole in words, where a common fraction is near: ``half of the 107``."""
    if part == whole:
        return f"all {whole:,}"
    words = next((word for share, word in _SHARES.items() if abs(part / whole - share) < 0.02), f"{part:,}")
    return f"{words} of the {whole:,}"


def explained(causes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The least number of causes with which ``MOST`` of all paths begin, and their paths."""
    counts = sorted((cause["paths"] for cause in causes), reverse=True)
    total, number, sum_of = sum(counts), 0, 0
    while sum_of < MOST * total:
        sum_of += counts[number]
        number += 1
    return {"causes": number, "paths": sum_of, "share": MOST}


def as_of(objects: Iterable[Object]) -> str:
    """The time of the latest change that some objects tell, which a dump was made after; empty without one."""
    times: list[Any] = []
    for obj in objects:
        times += [at(obj, "metadata", "creationTimestamp"), at(obj, "spec", "renewTime")]
        managed = at(obj, "metadata", "managedFields")
        times += [at(one, "time") for one in managed] if isinstance(managed, list) else []
    return max((time for time in times if isinstance(time, str) and _TIME.match(time)), default="")


def digest(paths: Sequence[str | pathlib.Path]) -> str:
    """The SHA-256 of a dump that is one file, in hexadecimal; empty for folders and for what is read from elsewhere."""
    file = pathlib.Path(paths[0]) if len(paths) == 1 else None
    return sha256(file.read_bytes()).hexdigest() if file is not None and file.is_file() else ""


def teams_of(dump: Dump) -> dict[str, str]:
    """The team of each namespace that has a label ``team`` or ``owner``, perhaps with a prefix."""
    found = {}
    for key, namespace in dump.keyed.items():
        if key.resource == NAMESPACES:
            labels = at(namespace, "metadata", "labels")
            named = labels.items() if isinstance(labels, Mapping) else ()
            found[key.name] = next((str(value) for name, value in named if name.rpartition("/")[2] in TEAM), "")
    return found


def team_of(finding: Finding, teams: Mapping[str, str]) -> str:
    """The team of a finding's namespace, or else of the first service account that it names; empty if unknown."""
    places = (finding.namespace, *(subject.namespace for subject in finding.subjects))
    return next((teams[place] for place in places if teams.get(place)), "")


def grouped(
    causes: Causes, names: Mapping[Any, str], dump: Dump, members: Members, *, every: bool, first: int
) -> tuple[list[dict[str, Any]], list[Proof]]:
    """The paths of causes by the way that they go, in the order of the causes, and the proofs of some or all.

    Parameters
    ----------
    names
        The ids of the causes.
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
    proofs = prove_all([path for _, _, paths in chosen for path in paths], Cluster.of(dump), members=members)
    left = iter(proofs)
    return [_group(cause, names[cause.key], some, [*islice(left, len(tried))]) for cause, some, tried in chosen], proofs


def _group(cause: Cause, name: str, paths: Sequence[Path], proofs: Sequence[Proof]) -> dict[str, Any]:
    """Paths of one cause with the same steps, of which the first is shown."""
    from simkit.analysis.escalation.prove.proof import tally

    path = paths[0]
    return {
        "id": stable_id("p", str(cause.key), *(f"{step.primitive.id} {step.target}" for step in path.steps)),
        "cause": name,
        "goals": list(dict.fromkeys(path.goal.name for path in paths)),
        "subjects": list(dict.fromkeys(path.subject for path in paths)),
        "hops": path.hops,
        "severity": path.severity,
        "steps": _steps(path),
        "proof": _proof(proofs),
        "executed": len(proofs),
        "verdicts": tally(proofs),
    }


def _proof(proofs: Sequence[Proof]) -> dict[str, Any] | None:
    """The requests of one proof with their answers."""
    if not proofs:
        return None
    shown = next((proof for proof in proofs if proof.proven), proofs[0])
    return {"subject": shown.path.subject, "reason": shown.reason, **shown.record(), "verdict": shown.verdict}


def _steps(path: Path) -> list[dict[str, Any]]:
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
        for step in path.steps
    ]


def stable_id(letter: str, *parts: str) -> str:
    """An id for links that is the same in the next report."""
    return f"{letter}-{sha256(orjson.dumps(parts)).hexdigest()[:12]}"
