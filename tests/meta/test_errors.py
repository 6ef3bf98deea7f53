"""Errors that cross a process boundary arrive as they were raised."""

from __future__ import annotations

import pickle

import pytest

from simkit.meta.errors import IncompleteSnapshot, SimkitError, UnknownResource
from simkit.meta.names import GroupResource


@pytest.mark.parametrize(
    "error",
    [
        SimkitError("no such file"),
        UnknownResource("pod", "1.30", ["pods"]),
        IncompleteSnapshot([GroupResource("", "secrets"), GroupResource("apps", "deployments")]),
    ],
)
def test_an_error_arrives_as_it_was_raised(error: SimkitError) -> None:
    """Workers of a fleet send their errors to the process that asked."""
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert (str(arrived), arrived.__dict__) == (str(error), error.__dict__)
