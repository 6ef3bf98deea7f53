"""The playground's answers where a browser's Python has no numpy, pandas, orjson, cryptography and RE2."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.analysis import can, compare, escalations, who_can
from simkit.cluster.loading import demo
from tools.playground.stand_ins import orjson as stand_in

BINDING = ("clusterrolebindings", "", "pellowick:helpdesk-read-only")
MANIFEST = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "<b>oops"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: "<img src=x>"}]
"""
PROGRAM = """
import json, sys
from tools.playground.first import ABSENT, without_absent_modules
without_absent_modules()
from tools.playground.answers import Playground
playground = Playground()
print(json.dumps([json.loads(playground.ask(json.dumps(question))) for question in json.loads(sys.argv[1])]))
loaded = {name.partition(".")[0] for name in sys.modules} & set(ABSENT) - {"orjson"}
assert not loaded and "stand_ins" in sys.modules["orjson"].__file__, loaded
"""


def asked(*questions: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The answers of a Python that has what browsers have."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(questions)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    answers: Sequence[dict[str, Any]] = json.loads(done.stdout)
    return answers


def test_access_is_answered_as_by_simkit() -> None:
    """Who can, whether one may, and what a change does; wrong questions get the errors of simkit."""
    opened, holders, allowed, changed, wrong = asked(
        {"ask": "open", "paths": []},
        {"ask": "who_can", "verb": "get", "resource": "secrets", "namespace": "billing", "defaults": True},
        {"ask": "can", "subject": "group:oidc:helpdesk", "verb": "get", "resource": "secrets"},
        {"ask": "change", "delete": [BINDING], "manifest": MANIFEST},
        {"ask": "who_can", "verb": "gte", "resource": "secrets"},
    )
    cluster = demo()
    snapshot = cluster.snapshot()
    assert cluster.dump is not None
    assert opened["answer"]["objects"] == len(cluster.dump.objects)
    expected = who_can(snapshot, "get", "secrets", namespace="billing")
    assert [row[0] for row in holders["answer"]["rows"]] == expected["subject"].tolist()
    assert [row[2] for row in holders["answer"]["rows"]] == [
        f"{kind} {name}".strip() for kind, name in zip(expected["binding_kind"], expected["binding"])
    ]
    answer = can(snapshot, "group:oidc:helpdesk", "get", "secrets")
    assert (allowed["answer"]["allowed"], allowed["answer"]["lines"]) == (bool(answer), str(answer).splitlines())
    with cluster.what_if() as trial:
        trial.delete("clusterrolebinding", BINDING[2])
        trial.apply(MANIFEST)
    rows = compare(snapshot, trial.snapshot())
    assert {(one["change"], one["subject"]) for one in changed["answer"]["access"]} == {
        tuple(row) for row in rows[["change", "subject"]].values.tolist()
    }
    paths = {tuple(row) for row in trial.compare_paths()[["change", "subject", "goal"]].values.tolist()}
    assert {(one["change"], one["subject"], one["goal"]) for one in changed["answer"]["paths"]} == paths
    assert "did you mean 'get'?" in wrong["error"]


def test_a_file_that_is_no_dump_is_refused_with_its_reason(tmp_path: Path) -> None:
    """Bytes, deep nesting and nothing at all; what was open before is not asked about any more."""
    files = {"bytes": bytes(range(256)), "deep.json": b"[" * 100_000, "empty.yaml": b""}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    questions = [{"ask": "open", "paths": [str(tmp_path / name)]} for name in files]
    _, *refused, after = asked({"ask": "open", "paths": []}, *questions, {"ask": "graph"})
    for answer, reason in zip(refused, ("special characters", "not JSON", "nothing is in it"), strict=True):
        assert reason in answer["error"]
    assert after == {"error": "open a dump first"}


@pytest.mark.slow
def test_paths_causes_and_report_need_no_tables() -> None:
    """The graph, causes with a plan, a proof and the report are made; what a browser cannot do has a sentence."""
    _, graph, causes, proof, report = asked(
        {"ask": "open", "paths": []},
        {"ask": "graph"},
        {"ask": "causes"},
        {"ask": "prove", "start": 0, "goal": "cluster-admin"},
        {"ask": "report"},
    )
    found = escalations(demo().snapshot())
    assert len(graph["answer"]["graph"]["starts"]) == len({path.subject for path in found})
    assert causes["answer"]["counts"]["paths"] == len(found)
    assert causes["answer"]["causes"][0]["commands"][0].startswith("kubectl ")
    assert proof["answer"]["proof"]["verdict"] == "proven, 4 assumed"
    assert report["answer"]["html"].startswith("<!DOCTYPE html>")


MODELS = """
import importlib.util, json, sys
if sys.argv[1] != "pydantic":
    sys.modules["pydantic"] = module = importlib.util.module_from_spec(
        spec := importlib.util.spec_from_file_location("pydantic", sys.argv[1]))
    spec.loader.exec_module(module)
import yaml
from simkit.analysis.access.expectations import Suite
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.findings.custom import RuleFile
from simkit.analysis.model_file import model_of_file
from simkit.analysis.upgrade.behaviour.entries import behaviour_entries
from simkit.logic.lifecycle.reading import read_history
from simkit.meta.errors import SimkitError
for each in (primitives(), risky_permission_table(), *behaviour_entries()):
    print(each.model_dump(mode="json"))
print(repr(read_history("name: a\\ncadence_months: 4\\nreleases: [{name: '1', date: 2025-01-15}]\\ngroups: []")))
for text in sys.stdin.read().split("---"):
    open(sys.argv[2], "w").write(text)
    for model in (Suite, RuleFile):
        try:
            print(repr(model_of_file(sys.argv[2], model)))
        except SimkitError as error:
            print(error)
"""
FILES = """
expectations: [{who: ["user:ann"], can: get, resource: secrets}]
---
expectations: [{who: [1], can: get, resource: secrets, within_hops: -1}, {colour: red}, 5]
---
expectations: []
---
rules: [{id: "A B", title: "", severity: extreme, when: "true", more: 1}, {id: a, title: b, when: "true", severity: high}]
---
rules: {id: a}
---
5
"""


def test_the_stand_in_for_pydantic_reads_the_same_models(tmp_path: Path) -> None:
    """Of our own tables, and of files that people write; errors tell the same places."""
    theirs, ours = (
        subprocess.run(
            [sys.executable, "-c", MODELS, module, str(tmp_path / "file.yaml")],
            input=FILES,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
            check=False,
        )
        for module in ("pydantic", "tools/playground/stand_ins/pydantic.py")
    )
    assert (theirs.returncode, ours.returncode) == (0, 0), theirs.stderr + ours.stderr
    assert ours.stdout.splitlines() == theirs.stdout.splitlines()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=8,
)


def outcome(call: Any, value: Any, **options: Any) -> tuple[str, Any]:
    """What a call gave back, or the family of its error."""
    try:
        return "value", call(value, **options)
    except json.JSONDecodeError:
        return "error", "unreadable"
    except TypeError:
        return "error", "unwritable"


@given(JSON)
def test_the_stand_in_for_orjson_writes_the_same_bytes(value: Any) -> None:
    """Sorted, indented or neither; integers beyond 64 bits and lone surrogates are refused as well."""
    for names in ((), ("OPT_SORT_KEYS",), ("OPT_INDENT_2", "OPT_APPEND_NEWLINE")):
        theirs, ours = (
            outcome(module.dumps, value, option=sum(getattr(module, name) for name in names))
            for module in (orjson, stand_in)
        )
        assert ours == theirs


@given(st.text(alphabet='[]{}",:\\u0d8 -+.eE19truefalsn\x00é') | JSON.map(lambda value: json.dumps(value)))
def test_the_stand_in_for_orjson_reads_the_same_values(text: str) -> None:
    """Of JSON and of what is nearly JSON, as text and as bytes."""
    assert repr(outcome(stand_in.loads, text)) == repr(outcome(orjson.loads, text))
    raw = text.encode()
    assert repr(outcome(stand_in.loads, raw)) == repr(outcome(orjson.loads, raw))
    assert outcome(stand_in.loads, raw + b"\xff") == outcome(orjson.loads, raw + b"\xff")


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_numbers_are_read_back(number: float) -> None:
    """What is no number of JSON becomes null."""
    assert stand_in.loads(stand_in.dumps([number])) == orjson.loads(orjson.dumps([number]))


@pytest.mark.parametrize("levels", [254, 255])
def test_nesting_is_limited_alike(levels: int) -> None:
    """A value that nests too deeply is refused at the same level."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    assert outcome(stand_in.dumps, value) == outcome(orjson.dumps, value)
    for text in (
        "[" * 100_000,
        "[" * 900 + "]" * 900,
        "[" * 2_000 + "]" * 2_000,
        "[[],{}]" * 3_000,
        "[" + "[{}]," * 9_000 + "1]",
    ):
        assert outcome(stand_in.loads, text)[0] == outcome(orjson.loads, text)[0]
