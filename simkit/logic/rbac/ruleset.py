"""The rules of a role, indexed by the resources that they name."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from weakref import WeakValueDictionary

from simkit.logic.rbac.rule import ALL, Rule, group_matches, name_matches, path_matches, verb_matches
from simkit.meta.attributes import Attributes

PATHS = "/"
"""The key of rules about non-resource URLs; no resource has this name."""

_known: WeakValueDictionary[tuple[Rule, ...], RuleSet] = WeakValueDictionary()
_knowing = threading.Lock()


class RuleSet:
    """Rules that roles share: two roles with equal rules have the same RuleSet. Make one with ``RuleSet.of``."""

    __slots__ = ("__weakref__", "_by_mention", "rules")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._by_mention: dict[str, list[tuple[int, Rule]]] | None = None

    @classmethod
    def of(cls, rules: tuple[Rule, ...]) -> RuleSet:
        """The shared RuleSet of these rules."""
        with _knowing:
            known = _known.get(rules)
            if known is None:
                known = _known[rules] = cls(rules)
            return known

    def mentions(self) -> Iterator[str]:
        """The resources in the rules, as written, and ``PATHS`` if they name paths."""
        return iter(self._arranged())

    def naming(self, mention: str) -> Sequence[tuple[int, Rule]]:
        """The rules that name a resource in exactly this form, with their indexes."""
        return self._arranged().get(mention, ())

    def first(self, ask: Attributes) -> int:
        """The index of the first rule that allows the request; -1 if none does."""
        return self.first_mentioned(ask, mentions_of(ask))

    def first_mentioned(self, ask: Attributes, mentions: tuple[str, ...]) -> int:
        """The result of ``first``, given ``mentions_of(ask)``."""
        arranged = self._by_mention or self._arranged()
        found = -1
        for mention in mentions:
            for index, rule in arranged.get(mention, ()):
                if 0 <= found < index:
                    break
                if _allows_mentioned(rule, ask):
                    found = index
                    break
        return found

    def _arranged(self) -> dict[str, list[tuple[int, Rule]]]:
        if self._by_mention is None:
            arranged: dict[str, list[tuple[int, Rule]]] = {}
            for index, rule in enumerate(self.rules):
                for mention in dict.fromkeys((*rule.resources, *((PATHS,) if rule.paths else ()))):
                    arranged.setdefault(mention, []).append((index, rule))
            self._by_mention = arranged
        return self._by_mention

    def __repr__(self) -> str:
        return f"<RuleSet of {len(self.rules)} rules>"


def mentions_of(ask: Attributes) -> tuple[str, ...]:
    """The forms in which rules may name the requested resource."""
    if not ask.is_resource:
        return (PATHS,)
    if ask.subresource:
        return (ask.resource_path, ALL, f"*/{ask.subresource}")
    return (ask.resource, ALL)


def _allows_mentioned(rule: Rule, ask: Attributes) -> bool:
    """The result of ``rule_allows`` for a rule that is known to name the resource."""
    if not verb_matches(rule, ask.verb):
        return False
    if not ask.is_resource:
        return path_matches(rule, ask.path)
    return group_matches(rule, ask.group) and name_matches(rule, ask.name)
