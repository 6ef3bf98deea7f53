"""Percent-encoded texts in pieces."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.meta import percent_encoding
from simkit.meta.percent_encoding import unquoted

_PARTS = st.sampled_from(["%", "%4", "%41", "%c3%a9", "%C3", "%zz", "%%", "a", "é", "+", "\u2028", "\n"])


@settings(max_examples=300, deadline=None)
@given(st.lists(_PARTS, max_size=40).map("".join), st.integers(3, 9))
def test_pieces_make_no_difference(text: str, piece: int) -> None:
    """Wherever a text is cut, it is decoded as if it was not."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(percent_encoding, "_PIECE", piece)
        assert unquoted(text) == unquote(text)
