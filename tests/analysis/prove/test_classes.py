"""Classes of requests: what a rule allows beyond others, compared with asking for each request."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from simkit.analysis.prove import classes
from simkit.analysis.prove.classes import TooManyClasses, coverage
from simkit.logic.rbac.rule import Rule, rule_allows
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity

ANN = Identity("ann")
NEW = "nobody-names-this"
REQUESTS = [
    *(
        Attributes(ANN, verb, group, "", resource, subresource, "ns", name)
        for verb, group, resource, subresource, name in product(
            ("get", "list", NEW), ("", "a", NEW), ("p", "q", NEW), ("", "s", "t", "*", NEW), ("", "n", "m", NEW)
        )
    ),
    *(
        Attributes(ANN, verb, path=path, is_resource=False)
        for verb, path in product(("get", "list", NEW), ("/a", "/a/", "/a/b", "/a/c", "/z", "/ab", "/a/bz", "/"))
    ),
]


def _rule(random: Random) -> Rule:
    def some(*words: str) -> tuple[str, ...]:
        return tuple(random.sample(words, random.randint(1, 2)))

    verbs = some("get", "list", "*")
    if random.random() < 0.25:
        return Rule(verbs, paths=some("/a", "/a/*", "*", "/*", "/a/b*", "/a*", "/a/b", "x*"))
    resources = some("p", "q", "p/s", "*/s", "*", "p/*", "*/*", "q/t", "a/b/c")
    return Rule(verbs, some("", "a", "*"), resources, random.choice(((), (), ("n",), ("m", "n"), ("",))))


def test_rules_cover_a_rule_exactly_if_they_allow_each_of_its_requests() -> None:
    """Wildcards, subresources of all resources, names, and beginnings of paths: 2,000 random cases."""
    for seed in range(2000):
        random = Random(seed)
        rule, owned = _rule(random), [_rule(random) for _ in range(random.randint(0, 6))]
        new = any(rule_allows(rule, ask) and not any(rule_allows(own, ask) for own in owned) for ask in REQUESTS)
        assert bool(coverage(rule, owned).uncovered) is new, seed


def test_a_rule_with_too_many_classes_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search ends, and does not say that nothing is new."""
    monkeypatch.setattr(classes, "MOST_CLASSES", 10)
    verbs, resources = (tuple(f"{letter}{number}" for number in range(20)) for letter in "vr")
    with pytest.raises(TooManyClasses):
        coverage(Rule(verbs, ("",), resources), [Rule((verb,), ("",), resources) for verb in verbs])
