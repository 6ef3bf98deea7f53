"""Audit logs as tables: of our own server, and of files."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import orjson
import pytest

import simkit
from simkit.analysis import audit_events
from simkit.analysis.rbac.subject import text_of_user
from simkit.cluster.options import Options
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.shared import SHARED, needs_shared

ANN = Identity("ann", ("system:authenticated",))


@pytest.fixture
def cluster() -> simkit.Cluster:
    return simkit.Cluster(options=Options(seed=1, audit_policy="Metadata"))


def test_our_own_log_has_a_row_for_each_event(cluster: simkit.Cluster) -> None:
    cluster.perform(Request.of("GET", "/apis/apps/v1/namespaces/dev/deployments/web"), identity=ANN)
    headers = {"impersonate-user": "bob", "impersonate-group": "devs"}
    cluster.perform(Request.of("GET", "/api/v1/pods?limit=1", headers=headers))
    cluster.perform(Request.of("GET", "/version"), identity=ANN)
    events = audit_events(cluster.audit_log())
    ended = events[events["stage"] == "ResponseComplete"].tail(3).set_index("uri")
    ann = ended.loc["/apis/apps/v1/namespaces/dev/deployments/web"]
    assert (ann["subject"], ann["impersonator"], ann["verb"], ann["api_version"]) == ("user:ann", "", "get", "apps/v1")
    assert (ann["resource"], ann["namespace"], ann["name"]) == ("deployments", "dev", "web")
    assert (ann["code"], ann["decision"]) == (403, "forbid")
    bob = ended.loc["/api/v1/pods?limit=1"]
    assert (bob["subject"], bob["groups"][0], bob["api_version"]) == ("user:bob", "devs", "v1")
    assert bob["impersonator"] == "user:simkit-admin"
    assert ended.loc["/version"]["resource"] == ""
    assert str(events["time"].dtype).startswith("datetime64")
    assert events["time"].notna().all()


def test_requests_to_deprecated_versions_are_marked(cluster: simkit.Cluster) -> None:
    cluster.perform(Request.of("GET", "/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas"))
    last = audit_events(cluster.audit_log()).iloc[-1]
    assert last["deprecated"]
    assert last["removed_release"] == "1.32"


def test_a_log_without_events_has_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text("")
    with pytest.warns(UserWarning, match="no audit event was found in"):
        events = audit_events(path)
    assert len(events) == 0
    assert {"subject", "verb", "code"} <= set(events.columns)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(simkit.SimkitError, match="there is no audit log at"):
        audit_events(tmp_path / "audit.log")


@pytest.mark.slow
@needs_shared
def test_a_real_log_is_read_whole() -> None:
    path = SHARED / "datasets" / "audit.jsonl.gz"
    lines = [orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    events = audit_events(path)
    assert Counter(events["subject"]) == Counter(
        text_of_user((line.get("impersonatedUser") or line["user"]).get("username", "")) for line in lines
    )
    assert Counter(events["verb"]) == Counter(line["verb"] for line in lines)
