"""The hashes in names, against those that a real cluster gave."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from simkit.logic.workloads.naming import revision_hash, template_hash
from tests.shared import SHARED, needs_shared

Object = Mapping[str, Any]


@pytest.fixture(scope="module")
def recorded() -> Sequence[Object]:
    """The objects of a recorded cluster."""
    with gzip.open(SHARED / "datasets" / "operators-and-teams.json.gz") as file:
        items: list[Object] = json.load(file)["items"]
        return items


def owner(obj: Object) -> Object:
    found: Object = obj["metadata"]["ownerReferences"][0]
    return found


@needs_shared
def test_revisions_of_stateful_sets_are_called_as_recorded(recorded: Sequence[Object]) -> None:
    """They hash the revision as data."""
    revisions = [each for each in recorded if each["kind"] == "ControllerRevision"]
    own = [each for each in revisions if owner(each)["kind"] == "StatefulSet"]
    assert own
    for each in own:
        assert each["metadata"]["name"] == f"{owner(each)['name']}-{revision_hash(each['data'])}"


def test_collisions_give_other_names() -> None:
    """As many as it takes."""
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert len({template_hash(template), *(template_hash(template, number) for number in range(3))}) == 4
    assert len({revision_hash({"a": template}, number) for number in range(3)}) == 3
