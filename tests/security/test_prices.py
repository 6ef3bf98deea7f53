"""The price list: twice the input costs at most about twice as much, for every reader of bytes from outside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from simkit.kinds.apiextensions.printer_columns import BadPath, parse_json_path
from simkit.kinds.parts.validation.pem import blocks
from simkit.language.merge.jsonpatch import json_patch
from simkit.language.merge.mergepatch import PatchError
from simkit.language.merge.strategic import _distinct, strategic_merge
from simkit.meta.duration import seconds
from simkit.meta.go_json import Malformed, read
from simkit.meta.integers import saturating_int
from simkit.meta.quantity import QuantityError, parse
from simkit.schema.custom.formats import FORMATS
from simkit.schema.structural import Schema
from tests.releases import BASE
from tests.security.prices import LINEAR, growth

_ROW = {"type": "object", "fields": {"finalizers": {"type": "array", "patchStrategy": "merge"}}}


def _no_definition(name: str) -> Schema:
    raise KeyError(name)


_META = Schema(_ROW, _no_definition)


def _names(count: int, first: int = 0) -> list[str]:
    return [f"example.com/f{number}" for number in range(first, first + count)]


def _readers() -> dict[str, tuple[Callable[[Any], Any], Callable[[int], Any], int]]:
    """The readers, their input at a size, and the size."""
    duration = FORMATS["duration"]
    return {
        "format duration, digits": (duration, lambda n: "1" * n, 4000),
        "format duration, units": (duration, lambda n: "1h" * n + "!", 2000),
        "format duration, spaces": (duration, lambda n: "1 " * n, 2000),
        "timeout": (seconds, lambda n: "1s" * n, 2000),
        "quantity": (parse, lambda n: "1" * n, 5000),
        "quantity, fraction": (parse, lambda n: "0." + "1" * n + "Ki", 5000),
        "JSON number": (read, lambda n: b"[" + b"1" * n + b"]", 10_000),
        "PEM without ends": (lambda text: list(blocks(text)), lambda n: b"-----BEGIN A-----\n" * n, 1000),
        "PEM with many labels": (
            lambda text: list(blocks(text)),
            lambda n: b"".join(b"-----BEGIN A%d-----\n" % number for number in range(n)),
            1000,
        ),
        "JSONPath filter": (parse_json_path.__wrapped__, lambda n: ".a[?(@" + r".\a" * n + "!)]", 500),
        "integer": (saturating_int, lambda n: "9" * n, 50_000),
        "strategic merge, new finalizers": (
            lambda n: strategic_merge(BASE, {"finalizers": _names(n)}, {"finalizers": _names(n, n)}, _META),
            lambda n: n,
            300,
        ),
        "strategic merge, deleted finalizers": (
            lambda n: strategic_merge(
                BASE, {"finalizers": _names(n)}, {"$deleteFromPrimitiveList/finalizers": _names(n)}, _META
            ),
            lambda n: n,
            300,
        ),
        "strategic merge, ordered finalizers": (
            lambda n: strategic_merge(
                BASE, {"finalizers": _names(n)}, {"$setElementOrder/finalizers": _names(n)[::-1]}, _META
            ),
            lambda n: n,
            300,
        ),
        "strategic merge, repeated finalizers": (
            lambda n: strategic_merge(BASE, {"finalizers": ["a"] * n}, {"finalizers": ["a", "b"] * n}, _META),
            lambda n: n,
            300,
        ),
        "JSON patch": (
            lambda n: json_patch({"a": []}, [{"op": "add", "path": "/a/-", "value": 1}] * n),
            lambda n: n,
            300,
        ),
    }


@pytest.mark.parametrize("reader", _readers())
def test_twice_the_input_costs_about_twice_as_much(reader: str) -> None:
    """Input of a client costs no more than in proportion to its length."""
    act, make, size = _readers()[reader]

    def tried(given: Any) -> None:
        with suppress(ValueError, QuantityError, Malformed, PatchError, BadPath):
            act(given)

    assert growth(tried, make, size) < LINEAR


def _slowly_distinct(items: list[Any]) -> list[Any]:
    out, index = list(items), 0
    while index < len(out) - 1:
        other = index + 1
        while other < len(out):
            if out[index] == out[other]:
                out[other] = out[-1]
                out.pop()
            else:
                other += 1
        index += 1
    return out


def test_doubles_go_in_the_order_of_kube_apiserver() -> None:
    """The quick way leaves the very order that the slow one does (uniqueifyScalars of strategicpatch)."""
    from random import Random

    chance = Random(1)
    for _ in range(500):
        items = [chance.randrange(6) for _ in range(chance.randrange(14))]
        assert _distinct(items) == _slowly_distinct(items), items
