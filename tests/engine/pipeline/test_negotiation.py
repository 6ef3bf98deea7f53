"""Which representation an Accept header asks for."""

from __future__ import annotations

import pytest

from simkit.engine.pipeline.negotiation import JSON, PROTOBUF, YAML, Wanted, negotiate
from simkit.meta.domain import META_GROUP
from simkit.meta.errors import StatusError

TABLE = f"{JSON};as=Table;v=v1;g={META_GROUP}"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Wanted()),
        ("*/*", Wanted()),
        (YAML, Wanted(YAML)),
        (f"{YAML};q=0.1, {JSON}", Wanted(JSON)),
        (f"text/html, {PROTOBUF}", Wanted(PROTOBUF)),
        (f"{TABLE}, {JSON}", Wanted(JSON, "Table", "v1")),
        (f"{TABLE.replace('v1', 'v9')}, {JSON}", Wanted(JSON)),
    ],
)
def test_first_acceptable_wins(accept: str, expected: Wanted) -> None:
    """Weights order the clauses, unknown ones are passed over."""
    assert negotiate(accept) == expected


@pytest.mark.parametrize("accept", ["text/html", "application/*", "nonsense"])
def test_nothing_acceptable(accept: str) -> None:
    """A header without any known media type is 406, with the list of what there is."""
    with pytest.raises(StatusError) as caught:
        negotiate(accept)
    assert caught.value.code == 406
    assert JSON in caught.value.message
