"""Python's ``re`` meets texts from outside only through patterns whose price grows with the text."""

from __future__ import annotations

import re
from re._parser import parse

import pytest

from simkit.snapshot.load import load
from tests.security.backtracking import spans
from tests.security.patterns import Use, growing, texts, uses

MADE = {
    "analysis/escalation/prove/required_requests.py": "patterns of our own table, tried on words of our own",
    "analysis/upgrade/behaviour/places.py": "a name of our own data, escaped",
    "engine/authn/authentication_configuration.py": "two words of ours; the text is the administrator's file",
    "kinds/parts/devices/names.py": "one word, a constant of the file",
    "language/cel/grammar.py": "the grammar of celpy, at the start",
    "schema/custom/formats.py": "formats whose letters and spaces exclude each other",
    "snapshot/yamldocuments.py": "spaces and a dash",
}
"""Files in which a pattern is made of something else than one text, and why that may be."""
USES = list(uses())


def test_patterns_that_are_made_are_known() -> None:
    """A pattern that cannot be read off the source stands in this list, with its reason."""
    assert {use.path for use in USES if use.pattern is None} == MADE.keys()
    assert len(USES) > 150


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_pattern_backtracks(part: int) -> None:
    """The price of the worst of some hundred texts, made of what the pattern itself names, grows with its length."""
    assert not [
        (use.path, use.line, text) for use in USES[part::4] if use.pattern is not None and (text := growing(use))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", r"\s*\n", "(?:x*y*)*z"])
def test_the_search_for_texts_finds_bad_patterns(pattern: str) -> None:
    """It knows those that everybody warns of."""
    assert growing(Use("", 1, pattern, re.DOTALL, frozenset({"search"})))


@pytest.mark.slow
def test_steps_are_counted_by_a_true_matcher() -> None:
    """The matcher that counts them finds what ``re`` finds, with every pattern of the source."""
    for use in USES:
        for start, word, end in texts(use.pattern, use.flags) if isinstance(use.pattern, str) else ():
            text = start + word * 3 + end
            found = [match.span() for match in re.finditer(use.pattern, text, use.flags)]
            assert spans(parse(use.pattern, use.flags), "finditer", text) == found, (use.pattern, text)


def test_comments_with_returns() -> None:
    """Thirty lines of comments that end with a return kept a loading program for minutes."""
    assert len(load("# a\r\n" * 60 + "apiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: a}\r\n")) == 1
