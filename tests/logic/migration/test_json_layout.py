"""JSON keeps the layout that it has."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.logic.migration.documents import rewrite
from simkit.logic.migration.json_layout import laid_out_like

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
INGRESS = """\
{
    "apiVersion": "networking.k8s.io/v1beta1",
    "kind": "Ingress",
    "metadata": {"name": "web, \\"a\\":[", "labels": {}},
    "spec": {
        "backend": {"serviceName": "web", "servicePort": 80}
    }
}
"""


@given(VALUES, VALUES, st.sampled_from([None, 1, 4, "\t"]))
def test_it_says_what_it_should(before: object, after: object, indent: int | str | None) -> None:
    """Whatever the layout is that it follows."""
    assert json.loads(laid_out_like(json.dumps(before, indent=indent), after)) == after


@given(st.dictionaries(st.text(), VALUES, max_size=3), st.sampled_from([1, 4, "\t"]))
def test_what_says_the_same_stays(value: object, indent: int | str) -> None:
    """A text that nothing is to change in is written as it is."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    assert laid_out_like(text, value) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (INGRESS, '        "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}'),
        (json.dumps(json.loads(INGRESS), separators=(",", ":")), '"defaultBackend":{"service":{"name":"web"'),
    ],
)
def test_fields_that_move(text: str, line: str) -> None:
    """They stand on one line where those before them did; compact texts stay compact."""
    made = rewrite(text, "1.33").text
    assert line in made
    assert made.count("\n") == text.count("\n")
