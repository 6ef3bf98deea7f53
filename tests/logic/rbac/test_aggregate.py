"""Aggregated cluster roles gather what the real controller gathered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simkit.logic.rbac.aggregate import aggregated_rules, is_aggregated, with_aggregated_rules
from simkit.logic.rbac.rule import rules_of
from simkit.meta.objects import Object, name_of
from tests.conformance.recordings import access_worlds
from tests.logic.rbac.worlds import empty_cluster, recorded_objects, role, rule
from tests.shared import needs_shared

PODS, LOGS = rule("get", "-", "pods"), rule("get", "-", "pods/log")


def part(name: str, *rules: Object, labels: dict[str, str]) -> Object:
    """A cluster role with labels."""
    made = role(name, *rules)
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


def whole(name: str, *selectors: dict[str, str], rules: Iterable[Object] = (), labels: dict[str, str]) -> Object:
    """A cluster role that gathers."""
    wanted = [{"matchLabels": selector} for selector in selectors]
    return {**part(name, *rules, labels=labels), "aggregationRule": {"clusterRoleSelectors": wanted}}


def test_recorded_worlds() -> None:
    """Aggregation in recorded clusters that had settled changes no role, not even in the order of rules."""
    worlds = [[*empty_cluster(), *line["world"]["objects"]] for line in access_worlds()]
    assert sum(map(unchanged, worlds)) > 100


@needs_shared
def test_recorded_big_cluster() -> None:
    """The same holds for a cluster with 25 installed products."""
    assert unchanged(recorded_objects("operators-and-teams.json.gz")) > 0


def unchanged(dump: Sequence[Object]) -> int:
    """The number of aggregated roles of a cluster, none of which aggregation would change."""
    compared = 0
    roles = [obj for obj in dump if obj["kind"] == "ClusterRole"]
    for one in filter(is_aggregated, roles):
        rules = aggregated_rules(one, roles)
        assert rules_of({"rules": rules}) == rules_of(one) or not rules
        compared += 1
    return compared


def test_order_and_duplicates() -> None:
    """Selectors are taken in order, roles by name, each rule once, and the role never takes from itself."""
    roles = [
        whole("w", {"b": "1"}, {"a": "1"}, rules=[rule("own", "-", "x")], labels={"a": "1"}),
        part("z", PODS, labels={"a": "1", "b": "1"}),
        part("y", LOGS, PODS, labels={"a": "1"}),
    ]
    assert aggregated_rules(roles[0], roles) == [PODS, LOGS]


def test_chains_settle() -> None:
    """Roles that gather from gathering ones get everything; two that feed each other end."""
    roles = [
        whole("a", {"to": "a"}, labels={}),
        whole("b", {"to": "b"}, labels={"to": "a"}),
        part("c", PODS, labels={"to": "b"}),
        whole("d", {"to": "d"}, labels={"to": "e"}),
        whole("e", {"to": "e"}, labels={"to": "d"}),
        part("f", LOGS, labels={"to": "e"}),
    ]
    rules = {name_of(one): one["rules"] for one in with_aggregated_rules(roles)}
    assert rules == {"a": [PODS], "b": [PODS], "c": [PODS], "d": [LOGS], "e": [LOGS], "f": [LOGS]}


def test_selectors_without_a_match_keep_own_rules() -> None:
    """A role whose selectors find nothing keeps the rules that it was written with."""
    assert with_aggregated_rules([whole("w", {"no": "thing"}, rules=[PODS], labels={})])[0]["rules"] == [PODS]
