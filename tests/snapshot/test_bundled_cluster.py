"""The bundled cluster: it is what its program makes, whole, and holds the mistakes that its list names."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.meta import datasets
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from simkit.snapshot.save import rendered
from tools.cluster.mistakes import INNOCENT, MISTAKES
from tools.make_cluster import EMPTY, objects

DUMP = "clusters/pellowick.json.gz"
LIST = "clusters/pellowick-mistakes.json"


@pytest.fixture(scope="module")
def dump() -> Dump:
    return load(datasets.path(DUMP), secrets=True)


def test_it_is_what_its_program_makes(dump: Dump) -> None:
    """Whoever changes the program writes the files anew."""
    assert rendered(dump) == rendered(load(objects(), captured=EMPTY, secrets=True))
    assert datasets.load(LIST) == {
        "mistakes": [mistake.entry() for mistake in MISTAKES],
        "innocent": [mistake.entry() for mistake in INNOCENT],
    }


def test_it_loads_without_a_doubt(dump: Dump) -> None:
    """There is no problem, every kind is known, every object has uid, version and time, and secrets are fake."""
    assert not dump.problems
    assert len(dump) == 902
    for obj in dump:
        assert {"uid", "resourceVersion", "creationTimestamp"} <= obj["metadata"].keys()
        if obj["kind"] == "Secret":
            assert set(obj["data"].values()) == {"ZHVtbXk="}
    assert len({obj["metadata"]["uid"] for obj in dump}) == len(dump)


def test_owners_are_there(dump: Dump) -> None:
    """Every owner reference names an object of the same namespace by its uid."""
    known = {(obj["kind"], obj["metadata"]["name"]): obj["metadata"]["uid"] for obj in dump}
    references = [owner for obj in dump for owner in obj["metadata"].get("ownerReferences", ())]
    assert len(references) > 100
    assert all(known[owner["kind"], owner["name"]] == owner["uid"] for owner in references)


def test_pods_run_as_accounts_that_exist(dump: Dump) -> None:
    """And in namespaces that exist."""
    accounts = {(o["metadata"]["namespace"], o["metadata"]["name"]) for o in dump if o["kind"] == "ServiceAccount"}
    namespaces = {obj["metadata"]["name"] for obj in dump if obj["kind"] == "Namespace"}
    pods = [obj for obj in dump if obj["kind"] == "Pod"]
    assert all((pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]) in accounts for pod in pods)
    assert {key.namespace for key in dump.keyed} - {""} <= namespaces


def test_the_list_names_what_is_there(dump: Dump) -> None:
    """Every object of every mistake is in the dump, and names are not used twice."""
    there = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in dump}
    entries: list[dict[str, Any]] = [entry for entries in datasets.load(LIST).values() for entry in entries]
    assert len({entry["name"] for entry in entries}) == len(entries) == 32
    for entry in entries:
        assert {(obj["kind"], obj["namespace"], obj["name"]) for obj in entry["objects"]} <= there
