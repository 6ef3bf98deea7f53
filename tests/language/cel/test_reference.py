"""Expressions put to this evaluator and to celpy, the reference in Python."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis.admission.cel import cel
from simkit.language.cel.reference import reference

BINDINGS: dict[str, Any] = {"x": {"name": "web", "replicas": 3, "ports": [80, 443], "labels": {"a": "b"}}}
ALIKE = (
    "1 + 2 * 3 - 4",
    "7 / 2 == 3 && -7 % 3 == -1",
    "'a' + 'b' in ['ab', 'c']",
    "x.replicas > 2 ? x.name : 'small'",
    "x.ports.map(p, p * 2)",
    "x.ports.filter(p, p > 100)",
    "x.ports.all(p, p > 0) && x.ports.exists(p, p == 443)",
    "x.ports.exists_one(p, p == 80)",
    "has(x.labels) && !has(x.nothing)",
    "size(x.name) + size(x.ports) + size(x.labels)",
    "x.labels['a'].startsWith('b') || false",
    "{'a': [1, 2u, 1.5], 'b': {}}",
    "x.name.matches('^w.b$')",
    "string(x.replicas)",
    "1 / 2.0 == 0.5",
    "duration('90m') == duration('1h30m')",
    "timestamp('2024-01-02T03:04:05Z').getFullYear()",
    "int('12') + int(3.7)",
    "b'abc' == bytes('abc')",
    "type(1) == int",
    "type(x.name)",
    "1u + 2u",
    "x.missing",
    "1 / 0",
    "x.ports[7]",
    "false && 1 / 0 == 1",
)
DIFFERENT = {
    "x.?name.orValue('none')": "celpy's grammar has no optional syntax",
    "'abc'.charAt(1)": "celpy has no string extension",
    "[1, 2,]": "celpy allows no comma at the end of a list",
    "string(true)": "celpy writes truth values as Python does",
}


@pytest.mark.parametrize("source", ALIKE)
def test_both_come_to_the_same(source: str) -> None:
    """Everything that the specification defines is the same in both, errors included."""
    found = cel(source, compare_with="celpy", **BINDINGS)
    assert found.agrees, found


@pytest.mark.parametrize("source", DIFFERENT)
def test_known_differences(source: str) -> None:
    """The comparison names the expressions in which celpy differs; cel-go decides."""
    found = cel(source, compare_with="celpy", **BINDINGS)
    assert not found.agrees
    assert "celpy differs: " in repr(found)


def test_errors_are_short() -> None:
    """celpy's errors come without the whole environment that it adds to them."""
    assert reference("nothing", {}).error == "undeclared reference to 'nothing'"
