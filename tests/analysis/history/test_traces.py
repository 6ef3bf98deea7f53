"""Traces of SimKube as a history: what they record, and what they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import orjson
import pytest

from simkit import SimkitError, history
from simkit.analysis.audit_log.events import read_events
from simkit.snapshot.load import load
from tests.analysis.worlds import binding, role, rule

RBAC = [f"rbac.authorization.k8s.io/v1.{kind}" for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")]
READERS, ANN = role("readers", rule("get", "secrets")), binding("ann", "readers", "user:ann")


def trace(**changes: Any) -> dict[str, Any]:
    """A trace in which a binding comes a minute after its role, and goes two minutes later."""
    events = [(0, [READERS], []), (60, [ANN], []), (180, [], [ANN])]
    return {
        "version": 2,
        "config": {"trackedObjects": {kind: {} for kind in RBAC}},
        "events": [
            {"ts": 1_760_000_000 + seconds, "applied_objs": applied, "deleted_objs": deleted}
            for seconds, applied, deleted in events
        ],
        "index": {},
        **changes,
    }


@pytest.mark.parametrize(
    "packed", [msgpack.packb, orjson.dumps, lambda value: orjson.dumps(value, option=orjson.OPT_INDENT_2)]
)
def test_access_between_the_events_of_a_trace(tmp_path: Path, packed: Any) -> None:
    """Each moment answers by the objects of that moment; authors are not known."""
    file = tmp_path / "trace"
    file.write_bytes(packed(trace()))
    past = history(audit_log=file, dumps={1_760_000_000.0: load([READERS], captured=["*"])})
    asked = [past.can("user:ann", "get", "secrets", at=1_760_000_000.0 + seconds).verdict for seconds in (30, 90, 170)]
    assert asked == ["no", "yes", "yes"]
    changes = past.changes()
    assert [(row.verb, row.user) for row in changes.itertuples()][-2:] == [("update", ""), ("delete", "")]


def test_a_trace_without_roles_is_refused() -> None:
    """What is not recorded is not taken for unchanged."""
    with pytest.raises(
        SimkitError, match="the trace does not record ClusterRole, RoleBinding, ClusterRoleBinding: add"
    ):
        list(read_events(orjson.dumps(trace(config={"trackedObjects": {RBAC[0]: {}, "apps/v1.Deployment": {}}}))))


@pytest.mark.parametrize("content", [msgpack.packb(trace())[:-20], b"\x81\xa1a", orjson.dumps(trace(events=[{"ts": "x"}])), orjson.dumps(trace(events=7)), orjson.dumps(trace(events=[{"ts": 1, "applied_objs": [None]}]))])  # fmt: skip
def test_broken_traces_are_refused_in_a_sentence(content: bytes) -> None:
    """Nothing is left out without a word."""
    with pytest.raises(SimkitError, match=r"neither an audit log nor a whole trace|the trace cannot be read"):
        list(read_events(content))


def test_an_object_without_a_name_is_refused() -> None:
    """A list in a trace hides what is in it."""
    events = [{"ts": 1, "applied_objs": [{"apiVersion": "v1", "kind": "List", "items": [ANN]}]}]
    with pytest.raises(SimkitError, match="the trace has a List without a name"):
        list(read_events(orjson.dumps(trace(events=events))))


@pytest.mark.parametrize("wrong", [{"subjects": "x"}, {"subjects": ["x"]}, {"roleRef": "x"}, {"metadata": "x"}])
def test_an_object_with_fields_of_wrong_types_is_not_known(wrong: dict[str, Any]) -> None:
    """A collector rewrote it; the history goes on without it."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "resource": "clusterrolebindings", "name": "ann"}
    event = {
        "verb": "create",
        "stage": "ResponseComplete",
        "stageTimestamp": "2026-03-03T00:01:00Z",
        "user": {"username": "eve"},
        "objectRef": reference,
        "responseObject": ANN | wrong,
    }
    past = history(audit_log=[event], dumps={"2026-03-03T00:00:00Z": load([READERS], captured=["*"])})
    assert past.changes()["known"].tolist() == [False]
    assert past.can("user:ann", "get", "secrets", at="2026-03-03T00:01:00Z").verdict == "unknown"
