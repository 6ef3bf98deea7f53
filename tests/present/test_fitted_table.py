"""Tables as wide as a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.present.fitted_table import fitted
from simkit.present.readable_table import text_width

HEADS = ("SUBJECT", "BINDING", "RULE")
ROWS = [
    ("sa:legacy-monitoring/exporter", "ClusterRoleBinding pellowick:legacy-exporter", 0),
    ("group:oidc:platform-admins", "ClusterRoleBinding pellowick:platform-team", 12),
]


def test_words_and_names_break_at_their_joints() -> None:
    """Between words first, and within a name behind its signs."""
    expected = """\
SUBJECT                BINDING                RULE
sa:legacy-monitoring/  ClusterRoleBinding        0
exporter               pellowick:legacy-
                       exporter
group:oidc:platform-   ClusterRoleBinding       12
admins                 pellowick:platform-
                       team
"""
    assert fitted(HEADS, ROWS, width=50, color=False) == expected


def test_only_the_longest_words_break_anywhere() -> None:
    """Where not all parts of words fit, those of the other columns stay whole."""
    text = fitted(("WHAT", "GROUP"), [("selfsubjectaccessreviews", "serviceaccounts")], width=30, color=False)
    assert text.splitlines()[1] == "selfsubjectac  serviceaccounts"


def test_a_wide_terminal_breaks_nothing() -> None:
    """One line for each row, with numbers at the right."""
    lines = fitted(HEADS, ROWS, width=200, color=False).splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("   0")
    assert lines[2].endswith("  12")


@given(
    st.lists(st.lists(st.text(st.characters(categories=("L", "Nd", "Pd", "Po")), max_size=40), min_size=3, max_size=3)),
    st.integers(20, 120),
)
def test_nothing_is_lost_and_no_line_is_too_long(rows: list[list[str]], width: int) -> None:
    """Every letter of every cell is in the table, whatever the width."""
    text = fitted(("A", "B", "C"), rows, width=width, color=False)
    assert all(text_width(line) <= width for line in text.splitlines())
    for row in rows:
        for letter in "".join("".join(row).split()):
            assert letter in text


@pytest.mark.parametrize("color", [True, False])
def test_words_of_a_style_stand_out(color: bool) -> None:
    """Only as whole cells, and only in colours."""
    text = fitted(("A", "B"), [("critical", "critical thing")], width=80, color=color, styles={"critical": "bold red"})
    assert text.count("\x1b[1;31m") == (1 if color else 0)
