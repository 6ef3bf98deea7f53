"""Continue tokens."""

from __future__ import annotations

import base64

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simkit
from simkit.engine.registry import paging
from simkit.meta.errors import StatusError
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key, Revision

PODS = GroupResource("", "pods")
NAMES = st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True)


@pytest.mark.slow
@given(st.integers(1, 2**53), NAMES, NAMES, st.booleans(), st.booleans())
def test_a_token_says_where_to_go_on(revision: int, namespace: str, name: str, everywhere: bool, rooted: bool) -> None:
    """A decoded token equals the encoded one, in lists of one namespace and of all, from a cache or not."""
    key = Key(PODS, namespace, name)
    scope = None if everywhere else namespace
    token = paging.decode(paging.encode(Revision(revision), key, scope, rooted=rooted))
    assert token.revision == revision
    assert token.key(PODS, scope) == key


@given(st.text(max_size=40))
def test_foreign_tokens_are_refused(token: str) -> None:
    """Whatever the server did not make is a 400."""
    with pytest.raises(StatusError) as caught:
        paging.decode(token or "x")
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("release", "starts"), [("1.30", [b"a", b"b"]), ("1.31", [b"/a", b"b"]), ("1.34", [b"/a", b"/b"])]
)
def test_keys_in_tokens_of_lists_from_the_cache_begin_with_a_slash(release: str, starts: list[bytes]) -> None:
    """First chunks come from the watch cache since 1.31, later ones since 1.34."""
    cluster = simkit.Cluster(release=release)
    for name in "abc":
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    path, token, found = "/api/v1/namespaces/default/configmaps?limit=1", "", []
    for _ in starts:
        token = cluster.perform(Request.of("GET", f"{path}&continue={token}")).object["metadata"]["continue"]
        content = orjson.loads(base64.urlsafe_b64decode(token + "=="))
        found.append(content["start"].rstrip("\0").encode())
    assert found == starts
