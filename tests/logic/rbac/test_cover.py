"""Rules are within other rules exactly when every request they allow is allowed by one of the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simkit.logic.rbac.cover import EVERYTHING, breakdown, compact_rules, covers, missing_rules_text, uncovered
from simkit.logic.rbac.rule import Rule, rule_allows
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity


def words(*choices: str, least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(choices), min_size=least, max_size=2, unique=True).map(tuple)


resource_rules = st.builds(
    Rule,
    words("get", "list", "*", least=1),
    words("", "apps", "*", least=1),
    words("pods", "pods/log", "*/log", "*", least=1),
    words("a", "b"),
)
path_rules = st.builds(
    lambda verbs, paths: Rule(verbs, paths=paths), words("get", "*", least=1), words("/a", "/a/*", "*", least=1)
)
rules = st.lists(st.one_of(resource_rules, path_rules), max_size=3)
ANN = Identity("ann")
ASKS = [
    Attributes(ANN, verb, group, resource=resource, subresource=subresource, name=name)
    for verb in ("get", "list", "watch")
    for group in ("", "apps", "batch")
    for resource, subresource in (("pods", ""), ("pods", "log"), ("jobs", "log"), ("jobs", ""))
    for name in ("", "a", "b", "c")
] + [Attributes(ANN, verb, path=path, is_resource=False) for verb in ("get", "put") for path in ("/a", "/a/b", "/c")]


@given(rules, rules)
def test_covered_rules_allow_nothing_more(owned: list[Rule], wanted: list[Rule]) -> None:
    """Whoever holds covering rules may do all that the covered ones allow."""
    if covers(owned, wanted):
        for ask in ASKS:
            assert any(rule_allows(rule, ask) for rule in owned) or not any(rule_allows(rule, ask) for rule in wanted)


@given(rules, rules)
def test_granting_the_uncovered_covers(owned: list[Rule], wanted: list[Rule]) -> None:
    """With what was missing added, nothing is missing; and everything covers all."""
    assert covers([*owned, *uncovered(owned, wanted)], wanted)
    assert covers(EVERYTHING, wanted)
    assert covers([*owned, *compact_rules(uncovered(owned, wanted))], wanted)


@given(resource_rules)
def test_pieces_make_up_the_rule(rule: Rule) -> None:
    """A rule allows what its pieces allow."""
    broken = list(breakdown(rule))
    for ask in ASKS:
        assert rule_allows(rule, ask) == any(rule_allows(piece, ask) for piece in broken)


def test_parts_do_not_make_a_wildcard() -> None:
    """Rules are compared piece by piece: many small ones never cover a star."""
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    assert not covers([Rule(verbs, ("",), ("pods",))], [Rule(("*",), ("",), ("pods",))])
    assert covers([Rule(("*",), ("*",), ("*/log",))], [Rule(("get",), ("",), ("pods/log",))])
    assert not covers([Rule(("get",), ("",), ("*/log",))], [Rule(("get",), ("",), ("*",))])


def test_description() -> None:
    """Missing rules are put together by place, sorted, one a line, empty fields left out."""
    missing = [
        Rule(("get",), ("",), ("pods",)),
        Rule(("get",), ("",), ("pods",), ("a",)),
        Rule(("*",), paths=("/x",)),
        Rule(("list",), ("",), ("pods",)),
    ]
    assert missing_rules_text(missing).splitlines() == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/x"], Verbs:["*"]}',
    ]
