"""Conditions of IAM bindings, as far as a request to a cluster decides them: true, false, or not known.

The resource of such a request is the cluster. Its name may contain the id of the project or its number, and
``locations`` or ``zones``; a condition that tells these apart is not decided. A condition on the time of the request is
decided only if its answer is the same at all times from the newest one that the dump shows.

References
----------
"Overview of IAM Conditions" and "Attribute reference for IAM Conditions" in the documentation of IAM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

from simkit.language.cel.environment import Environment, own_version
from simkit.language.cel.errors import BudgetExceeded, CompileError, EvaluationError
from simkit.language.cel.tree import Call, Ident, Literal, Node, Select
from simkit.language.cel.types import DYN
from simkit.language.cel.values import Timestamp, parsed_timestamp, timestamp
from simkit.meta.names import GroupResource
from simkit.meta.objects import at
from simkit.schema.behaviour import OWN
from simkit.seams.snapshot import Snapshot

_RESOURCE: Final = {"type": "container.googleapis.com/Cluster", "service": "container.googleapis.com"}
_COMPARED: Final = frozenset(("_<_", "_<=_", "_>_", "_>=_"))
_FAR: Final = 253_370_764_800 * 10**9
"""The year 9999."""
_BUDGET: Final = 100_000
_NUMBERS: Final = tuple("0" * length for length in range(6, 21))
"""Stand for the number of a project, which no description of a cluster tells: patterns may depend on its length."""
_READ: Final = frozenset(
    ("_&&_", "_||_", "!_", "_?_:_", "_==_", "_!=_", "@in", "startsWith", "endsWith", "contains", "matches")
)
"""The functions of texts that are evaluated."""
_DATED: Final = tuple(GroupResource("", name) for name in ("namespaces", "nodes", "pods"))


def newest_time(cluster: Mapping[str, Any], snapshot: Snapshot) -> int:
    """The newest time, in nanoseconds, that a cluster's description and its objects show; requests come later."""
    told = [cluster.get("createTime")]
    for resource in _DATED:
        if resource in snapshot.captured():
            told += [at(obj, "metadata", "creationTimestamp") for obj in snapshot.scan(resource)]
    moments = (parsed_timestamp(one) for one in told if isinstance(one, str))
    return max((one.nanos for one in moments if one is not None), default=0)


def decide(expression: str, link: str, newest: int, other_name: str = "") -> bool | None:
    """Whether a condition holds for requests to a cluster; None if that is not known.

    Parameters
    ----------
    expression
        The expression of the condition.
    link
        The cluster as the end of its link names it: ``acme/locations/eu/clusters/prod``.
    newest
        A time before all requests, in nanoseconds.
    other_name
        The number of the project, or its id where the link has the number; empty if it is not known.

    Examples
    --------
    >>> link, now = "acme/locations/eu/clusters/prod", 1_767_225_600 * 10**9
    >>> decide("resource.type == 'compute.googleapis.com/Instance'", link, now)
    False
    >>> decide("request.time < timestamp('2025-01-01T00:00:00Z')", link, now)
    False
    >>> decide("request.time < timestamp('2027-01-01T00:00:00Z')", link, now) is None
    True
    >>> text = "resource.name.startsWith('projects/123456789012/')"
    >>> decide(text, link, now) is None, decide(text, link, now, "987654321098")
    (True, False)
    """
    try:
        program = Environment(OWN, {"resource": DYN, "request": DYN}, version=own_version(OWN)).compile(expression)
        project = link.partition("/")[0]
        if not all(_is_known(program.node)) or not (other_name or _tells_numbers_alike(program.node)):
            return None
        projects = (project, other_name) if other_name else (project, *_NUMBERS)
        answers = {
            program.evaluate({"resource": {**_RESOURCE, "name": name}, "request": {"time": time}}, budget=_BUDGET).value
            for name, time in product(_names(link, projects), _times(program.node, newest))
        }
    except (CompileError, EvaluationError, BudgetExceeded):
        return None
    return next(iter(answers)) if answers in ({True}, {False}) else None


def _names(link: str, projects: Iterable[str]) -> Iterator[str]:
    rest = link.partition("/")[2].partition("/")[2]
    return (f"projects/{project}/{kind}/{rest}" for project, kind in product(projects, ("locations", "zones")))


def _tells_numbers_alike(node: Node) -> bool:
    """True if a condition names no number, so that the number of a project makes a difference by its length alone."""
    return not any(letter.isdigit() for text in _literals(node) for letter in text)


def _literals(node: Node) -> Iterator[str]:
    if isinstance(node, Literal) and isinstance(node.value, str):
        yield node.value
    if not _literal_time(node):
        for child in node.children():
            yield from _literals(child)


def _times(node: Node, newest: int) -> Iterator[Timestamp]:
    """The times at which the answer of a condition may change."""
    moments = (parsed_timestamp(text) for text in _timestamps(node))
    nearby = (one.nanos + more for one in moments if one is not None for more in (-1, 0, 1))
    return (timestamp(nanos) for nanos in (newest, _FAR, *nearby) if nanos >= newest)


def _timestamps(node: Node) -> Iterator[str]:
    literal = _literal_time(node)
    if literal:
        yield literal
    for child in node.children():
        yield from _timestamps(child)


def _literal_time(node: Node) -> str:
    if isinstance(node, Call) and node.function == "timestamp" and len(node.arguments) == 1:
        value = node.arguments[0]
        return value.value if isinstance(value, Literal) and isinstance(value.value, str) else ""
    return ""


def _is_known(node: Node) -> Iterator[bool]:
    """True for each part that asks for nothing but the cluster, and for the time only beside a given one."""
    if isinstance(node, Call) and node.function in _COMPARED and any(map(_literal_time, node.arguments)):
        yield all(_literal_time(one) or _field(one) == ("request", "time") for one in node.arguments)
    elif isinstance(node, Select):
        root, field = _field(node)
        yield root == "resource" and field in ("name", "type", "service")
    elif isinstance(node, Ident):
        yield False
    else:
        yield not isinstance(node, Call) or node.function in _READ
        for child in node.children():
            yield from _is_known(child)


def _field(node: Node) -> tuple[str, str]:
    """The variable and the field that a part reads; empty for anything else."""
    if isinstance(node, Select) and isinstance(node.operand, Ident) and not node.test:
        return node.operand.name, node.field
    return "", ""
