"""Continue tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.engine.registry import paging
from simkit.meta.errors import StatusError
from simkit.meta.names import GroupResource, Key, Revision

PODS = GroupResource("", "pods")
NAMES = st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True)


@given(st.integers(1, 2**53), NAMES, NAMES, st.booleans())
def test_a_token_says_where_to_go_on(revision: int, namespace: str, name: str, everywhere: bool) -> None:
    """A decoded token equals the encoded one, in lists of one namespace and of all."""
    key = Key(PODS, namespace, name)
    scope = None if everywhere else namespace
    token = paging.decode(paging.encode(Revision(revision), key, scope))
    assert token.revision == revision
    assert token.key(PODS, scope) == key


@given(st.text(max_size=40))
def test_foreign_tokens_are_refused(token: str) -> None:
    """Whatever the server did not make is a 400."""
    with pytest.raises(StatusError) as caught:
        paging.decode(token or "x")
    assert caught.value.code == 400
