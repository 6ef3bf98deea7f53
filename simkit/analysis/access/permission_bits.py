"""Many access questions at once: each is a bit, and the answer of a list of rules is an integer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.analysis.access.resolve import SINGLE_OBJECT_VERBS, Permission, resolve_permission
from simkit.logic.rbac.rule import ALL, Rule
from simkit.seams.snapshot import Snapshot

BoolTable = NDArray[np.bool_]


def each_once(words: str | Iterable[str]) -> tuple[str, ...]:
    """The distinct words, in order; one word may stand for a list of one."""
    return tuple(dict.fromkeys([words] if isinstance(words, str) else words))


class PermissionBits:
    """Requests without an object name: one bit for each resource and verb, resource by resource.

    Parameters
    ----------
    resources, verbs
        The words to ask with, as for ``who_can``.

    Notes
    -----
    What a rule allows takes O(words in the rule), whatever the number of resources.

    Examples
    --------
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> bits = PermissionBits(MemorySnapshot([], captured=["*"]), ["pods", "nodes"], ["get", "list"])
    >>> bits.table(bits.allowed([Rule(("list",), ("",), ("*",))])).tolist()
    [[False, True], [False, True]]
    """

    def __init__(self, snapshot: Snapshot, resources: str | Iterable[str], verbs: str | Iterable[str]) -> None:
        self.resources, self.verbs = each_once(resources), each_once(verbs)
        self._by_verb: dict[str, int] = {}
        self._by_group: dict[str, int] = {}
        self._by_path: dict[str, int] = {}
        self._by_subresource: dict[str, int] = {}
        self.everything = (1 << len(self.resources) * len(self.verbs)) - 1
        self.local = 0
        """The bits that a binding in a namespace can grant."""
        self.placed = 0
        """All bits of the resources for which a binding in a namespace can grant a verb."""
        self._known: dict[tuple[Rule, ...], int] = {}
        self.asked = [resolve_permission(snapshot, verb, word) for word in self.resources for verb in self.verbs]
        """The permission of each bit."""
        for place, asked in enumerate(self.asked):
            self._add(asked, 1 << place)
        whole = (1 << len(self.verbs)) - 1
        for row in range(len(self.resources)):
            resource = whole << row * len(self.verbs)
            self.placed |= resource if self.local & resource else 0

    def _add(self, asked: Permission, bit: int) -> None:
        path = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
        for masks, word in (
            (self._by_verb, asked.verb),
            (self._by_group, asked.api_group),
            (self._by_path, path),
            (self._by_subresource, asked.subresource),
        ):
            masks[word] = masks.get(word, 0) | bit
        own = asked.is_namespace and (asked.verb in SINGLE_OBJECT_VERBS or asked.subresource)
        if asked.is_placed or own:
            self.local |= bit

    def allowed(self, rules: Sequence[Rule]) -> int:
        """The bits that a list of rules allows in a cluster-wide binding."""
        key = tuple(rules)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = reduce(or_, map(self._of, key), 0)
        return known

    def _of(self, rule: Rule) -> int:
        if rule.resource_names and "" not in rule.resource_names:
            return 0
        return self._any(self._by_verb, rule.verbs) & self._any(self._by_group, rule.api_groups) & self._named(rule)

    def _any(self, masks: Mapping[str, int], words: Iterable[str]) -> int:
        found = 0
        for word in words:
            if word == ALL:
                return self.everything
            found |= masks.get(word, 0)
        return found

    def _named(self, rule: Rule) -> int:
        found = self._any(self._by_path, rule.resources)
        for word in rule.resources:
            wild, slash, subresource = word.partition("/")
            if wild == ALL and slash and subresource:
                found |= self._by_subresource.get(subresource, 0)
        return found

    def table(self, bits: int) -> BoolTable:
        """The bits as a table of resources by verbs."""
        rows, columns = len(self.resources), len(self.verbs)
        packed = np.frombuffer(bits.to_bytes((rows * columns + 7) // 8, "little"), dtype=np.uint8)
        unpacked: NDArray[Any] = np.unpackbits(packed, count=rows * columns, bitorder="little")
        return unpacked.astype(bool).reshape(rows, columns)
