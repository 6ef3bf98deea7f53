"""The edges of a binding graph with like ends folded: accounts by namespace, people and roles by what they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Final, NamedTuple

import networkx as nx

from simkit.logic.rbac.binding import SERVICE_ACCOUNT

ROLE: Final = "role"
_WORDS: Final = {"User": "users", "Group": "groups", SERVICE_ACCOUNT: "service accounts", ROLE: "roles"}
SEPARATORS: Final = "-:./ "
PAGE: Final = 200
"""Rows of both columns together that can still be overlooked."""


class Node(NamedTuple):
    """One row of the picture: a subject or role, or several that are folded into it."""

    text: str
    kind: str
    exists: bool = True
    number: int = 1
    first: str = ""
    """The first of those that are folded: others may have the same text."""


Edge = tuple[Node, Node, bool, int]
"""A subject, a role, whether a binding is cluster-wide, and how many pairs of a subject and a role it stands for."""


def edges_of(graph: nx.MultiDiGraph[str], *, fold: bool) -> list[Edge]:
    """The pairs of subject and role that a binding joins, each once; folded where that is wanted."""
    pairs: dict[tuple[str, str], bool] = {}
    for binding, data in graph.nodes(data=True):
        if data.get("layer") == "binding":
            for role in graph.successors(binding):
                for subject in graph.predecessors(binding):
                    pairs[subject, role] = pairs.get((subject, role), False) or not data["namespace"]
    nodes = {one: _node(graph, one) for pair in pairs for one in pair}
    found = [(nodes[subject], nodes[role], wide, 1) for (subject, role), wide in pairs.items()]
    return _folded(found) if fold else found


def _node(graph: nx.MultiDiGraph[str], name: str) -> Node:
    data = graph.nodes[name]
    if data.get("layer") == "role":
        return Node(str(data["text"]), ROLE, bool(data["exists"]))
    return Node(str(data["text"]), str(data["kind"]))


def _folded(edges: Iterable[Edge]) -> list[Edge]:
    """First accounts by their namespace, then people who have the same roles, then roles that the same have.

    Of more rows than a page has, accounts of all namespaces with the same roles are one.
    """
    listed = _fold(edges, 0, lambda node, _: _namespace(node) if _is_account(node) else None)
    listed = _fold(listed, 0, lambda node, others: None if _is_account(node) else (node.kind, others))
    listed = _fold(listed, 1, lambda node, others: (node.exists, others))
    if len({node for edge in listed for node in edge[:2]}) <= PAGE:
        return listed
    listed = _fold(listed, 0, lambda node, others: (node.kind, others))
    return _fold(listed, 1, lambda node, others: (node.exists, others))


def _namespace(account: Node) -> str:
    """The namespace of a service account, out of its text (``sa:namespace/name``)."""
    return account.text.partition(":")[2].partition("/")[0]


def _is_account(node: Node) -> bool:
    return node.kind == SERVICE_ACCOUNT


def _fold(
    edges: Iterable[Edge], side: int, key: Callable[[Node, frozenset[tuple[Node, bool]]], Hashable | None]
) -> list[Edge]:
    """Edges whose ends on one side are one node where they have the same key; None keeps an end as it is."""
    listed = list(edges)
    others: dict[Node, set[tuple[Node, bool]]] = defaultdict(set)
    for start, end, wide, _ in listed:
        near, far = (end, start) if side else (start, end)
        others[near].add((far, wide))
    groups: dict[Hashable, list[Node]] = defaultdict(list)
    for node, found in others.items():
        mark = key(node, frozenset(found))
        groups[node if mark is None else mark].append(node)
    names = {node: _together(some) for some in groups.values() for node in some}
    merged: dict[tuple[Node, Node], tuple[bool, int]] = {}
    for start, end, wide, count in listed:
        pair = (names[start], end) if side == 0 else (start, names[end])
        known = merged.get(pair, (False, 0))
        merged[pair] = (known[0] or wide, known[1] + count)
    return [(start, end, wide, count) for (start, end), (wide, count) in merged.items()]


def _together(some: list[Node]) -> Node:
    """Several nodes as one, named by their number and by what their names begin with alike."""
    if len(some) == 1:
        return some[0]
    count = sum(one.number for one in some)
    names = [_name(one) for one in some]
    shared = _shared(names)
    text = f"{count:,} {_WORDS.get(some[0].kind, 'subjects')}{shared}"
    return Node(text, some[0].kind, some[0].exists, count, some[0].first or some[0].text)


def _name(node: Node) -> str:
    """The name of a row without its kind, or what those have in common that are folded into it."""
    if node.number > 1:
        return node.text.partition(_WORDS.get(node.kind, "subjects"))[2].lstrip(": ")
    return node.text.partition(" ")[2] or node.text.partition(":")[2]


def _shared(names: list[str]) -> str:
    """The common prefix of names, up to the end of a word: their product or namespace."""
    first, last = min(names), max(names)
    length = next((place for place, pair in enumerate(zip(first, last)) if pair[0] != pair[1]), len(first))
    start = first[:length]
    cut = max((start.rfind(letter) for letter in SEPARATORS), default=-1)
    if cut < 2:
        return f": {names[0]}, {names[1]}{', ...' if len(names) > 2 else ''}"
    return f" {start[: cut + 1]}*"
