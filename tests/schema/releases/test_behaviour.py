"""The table of behaviour that differs between releases: every row is used, every use has its row."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import simkit
from simkit.meta import behaviour
from simkit.meta.fielderror import invalid_value
from simkit.schema.behaviour import behaviour_of, changes_of_behaviour, default_behaviour
from simkit.schema.feature_gates import history_of, parse_feature_gates
from simkit.schema.releases import FIRST, LAST, RELEASES, minor_of

PACKAGE = Path(simkit.__file__).parent


def asked_ids() -> Iterator[tuple[str, str]]:
    """The argument of every ``applies`` of the package, with the file it stands in."""
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text()
        if "applies(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "applies":
                given = ast.literal_eval(node.args[0])
                assert isinstance(given, str), f"{file}: applies is asked with a literal id"
                yield given, str(file.relative_to(PACKAGE))


def test_each_change_is_asked_for_and_each_question_has_its_row() -> None:
    """Neither a row that changes nothing, nor a question that is always answered no."""
    asked = dict(asked_ids())
    assert {name: where for name, where in asked.items() if name not in behaviour.changes()} == {}
    assert sorted(behaviour.changes().keys() - asked.keys()) == []


@pytest.mark.parametrize("change", behaviour.changes().values(), ids=lambda change: change.id)
def test_rows_are_whole(change: behaviour.BehaviourChange) -> None:
    """One sentence, a source, releases that are known, and a gate that is on by default just as long as they say."""
    assert change.text.endswith(".")
    assert change.source
    assert change.since or change.last or change.gate
    assert bool(change.assumed) == any(change.doubtful)
    assert {change.since, change.last} - {""} <= set(RELEASES)
    assert not change.since or not change.last or minor_of(change.since) <= minor_of(change.last)
    if change.gate:
        assert history_of(change.gate), f"{change.gate} is no feature gate"
        by_default = [release for release in RELEASES if change.id in default_behaviour(release).ids]
        assert by_default == [release for release in RELEASES if change.within(minor_of(release))]


def test_a_gate_decides_before_the_release() -> None:
    """If a change depends on a feature gate, the gate's value on the server counts."""
    gated = [change for change in behaviour.changes().values() if change.gate]
    for change in gated:
        release = change.since or change.last or history_of(change.gate)[0].release
        gates = parse_feature_gates({}, release).values
        if change.gate in gates:
            on = behaviour_of(release, {**gates, change.gate: True}).ids
            off = behaviour_of(release, {**gates, change.gate: False}).ids
            assert (change.id in on, change.id in off) == (True, False)


def test_rules_follow_the_release_that_is_served() -> None:
    """Inside of a request by its server, outside at 1.30, and nested requests each by their own."""
    error = invalid_value("spec.a", None, "wrong")
    assert error.body == 'Invalid value: "null": wrong'
    with behaviour.serving(default_behaviour("1.34")):
        assert error.body == "Invalid value: null: wrong"
        with behaviour.serving(default_behaviour("1.33")):
            assert error.body == 'Invalid value: "null": wrong'
        assert error.body == "Invalid value: null: wrong"
    assert error.body == 'Invalid value: "null": wrong'


def test_the_way_back_undoes_the_way_there() -> None:
    """Changes of later releases are undone on the way to earlier ones."""
    first, last = f"1.{FIRST}", f"1.{LAST}"
    there = {(step, each.id) for step, each in changes_of_behaviour(first, last)}
    back = {("goes" if step == "comes" else "comes", each.id) for step, each in changes_of_behaviour(last, first)}
    assert there == back
