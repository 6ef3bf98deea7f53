"""Amounts as kube-apiserver writes them again."""

from __future__ import annotations

import pytest

from simkit.meta.quantity import Quantity, canonical, canonical_resource_amount, parse


@pytest.mark.parametrize("text", ["1.500", "+5", "01", "5.", "1E3", "1.2e1", "+12Mi", "100E", "1234k", "1.234M", "5e0"])
def test_kept(text: str) -> None:
    """Amounts of few digits whose power of ten is one of thousands are written as they came, odd as they may look."""
    assert canonical(text) == text
    assert canonical_resource_amount(text) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1.5", "1500m"),
        ("0.125", "125m"),
        ("1.000", "1"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1e20", "100e18"),
        ("9.5E", "9500P"),
        ("16Ei", "9223372036854775807"),
        ("123456789012345678901", "123456789012345678901"),
        ("1000E", "1"),
        ("m", "0"),
        ("+", "0"),
        ("1e00000000000000000000000005", "100e3"),
    ],
)
def test_rewritten(text: str, written: str) -> None:
    """All others get the canonical form; only binary amounts are capped."""
    assert canonical(text) == written


def test_rounded() -> None:
    """Amounts of resources are rounded away from zero where they are finer than thousandths."""
    assert [canonical_resource_amount(text) for text in ("+11u", "-10.500m", "-10.500")] == ["1m", "-11m", "-10.500"]


def test_same_amounts() -> None:
    """Two spellings of an amount are equal."""
    assert parse("1.000") == parse("1000m") == Quantity(10**9)
