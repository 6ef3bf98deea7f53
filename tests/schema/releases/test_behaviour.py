"""The table of behaviour that differs between releases: every row is used, every use has its row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import simkit
from simkit.meta import behaviour
from simkit.meta.fielderror import invalid_value
from simkit.schema.behaviour import behaviour_of, default_behaviour
from simkit.schema.feature_gates import history_of, parse_feature_gates
from simkit.schema.releases import RELEASES, minor_of

PACKAGE = Path(simkit.__file__).parent


@pytest.mark.slow
def test_each_change_is_asked_for_and_each_question_has_its_row() -> None:
    """Neither a row that changes nothing, nor a question that is always answered no."""
    known, unknown, named = behaviour.changes().keys(), dict[str, str](), set[str]()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant):
                named |= {node.value} & known if isinstance(node.value, str) else set()
            elif isinstance(node, ast.Call):
                of_kinds = file.is_relative_to(PACKAGE / "kinds")
                unknown |= dict.fromkeys({*_asked(node, of_kinds=of_kinds)} - known, str(file))
    assert unknown == {}
    assert sorted(known - named) == []


def _asked(call: ast.Call, *, of_kinds: bool) -> Iterator[str]:
    """The changes that a call asks for by their literal names: ``applies``, and the rows of kinds."""
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    given = call.args[:1] if name in ("applies", "Worded") else []
    given += [each.value for each in call.keywords if of_kinds and each.arg in ("since", "until")]
    yield from (each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str))


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


def test_an_error_is_worded_for_each_release() -> None:
    """One error is told in the words of whichever release asks, and has no words of its own."""
    error = invalid_value("spec.a", None, "wrong")
    assert error.body(default_behaviour("1.33")) == 'Invalid value: "null": wrong'
    assert error.body(default_behaviour("1.34")) == "Invalid value: null: wrong"
    with pytest.raises(TypeError, match=r"depend on the release"):
        str(error)


def test_no_context_variable_carries_a_release() -> None:
    """The behaviour of a release is passed: no context variable has it, or the catalogue or snapshot that carries it."""
    variables = [
        f"{file.relative_to(PACKAGE)}: {ast.unparse(node)}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Assign | ast.AnnAssign) and "ContextVar" in ast.unparse(node)
    ]
    assert variables
    assert not [each for each in variables if re.search("Behaviour|Catalogue|Snapshot|[Rr]elease", each)]
