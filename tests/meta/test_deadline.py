"""Deadlines of the work for a request."""

from __future__ import annotations

import pytest

from simkit.language.yaml.block_style import encode
from simkit.language.yaml.decode import decode_body
from simkit.meta.deadline import Deadline, check_deadline, within
from simkit.meta.errors import StatusError


def test_looking_at_a_deadline() -> None:
    """A deadline without an end is none, and one that has passed ends the work."""
    within(Deadline(), check_deadline)
    with pytest.raises(StatusError):
        within(Deadline(-1), check_deadline)


def test_yaml_ends_with_its_request() -> None:
    """Whoever sends or asks for a long text does not keep the server busy after everybody has left."""
    for work in (lambda: decode_body("a: b\n", []), lambda: encode({"a": "b"})):
        with pytest.raises(StatusError):
            within(Deadline(-1), work)
