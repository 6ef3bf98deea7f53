"""The colours of pages can be read, and the style sheet names each of them."""

from __future__ import annotations

import re

import pytest

from simkit.present.colours import SEVERITIES, TOKENS
from simkit.present.design import stylesheet

LEAST_CONTRAST = 4.5
"""The ratio that WCAG 2.2 asks of text at level AA (success criterion 1.4.3)."""


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_text_stands_out(theme: int) -> None:
    """On paper and on bands, and white text on severities and buttons."""
    for name in ("ink", "soft", "link", "good", "bad", "warn"):
        for ground in ("paper", "band"):
            assert contrast(TOKENS[name][theme], TOKENS[ground][theme]) >= LEAST_CONTRAST, (name, ground)
    for name in ("action", *SEVERITIES):
        assert contrast(TOKENS[name][theme], "#FFFFFF") >= LEAST_CONTRAST, name


def test_each_property_is_defined() -> None:
    """No rule uses a custom property that the sheet does not set."""
    used = set(re.findall(r"var\((--sk-[a-z0-9]+)", stylesheet()))
    assert used <= set(re.findall(r"(--sk-[a-z0-9]+):", stylesheet()))
