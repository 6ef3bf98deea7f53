"""The rules of metrics, kept by the server's own."""

from __future__ import annotations

import logging

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.metrics.families import FAMILIES
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request

OLD = "apiserver_flowcontrol_request_concurrency_limit"
"""A metric that is deprecated from 1.30 on."""


def helps(cluster: Cluster, path: str = "/metrics") -> dict[str, str]:
    """The descriptions of what is exposed."""
    text = cluster.perform(Request.of("GET", path)).body.decode()
    lines = [line.split(" ", 3) for line in text.splitlines() if line.startswith("# HELP ")]
    return {name: words for _, _, name, words in lines}


def server(release: str, *, hidden: str = "") -> Cluster:
    options = Options(
        release=release,
        seed=1,
        show_hidden_metrics_for_version=hidden,
        max_requests_inflight=400,
        max_mutating_requests_inflight=200,
    )
    return Cluster(options=options)


def test_every_description_begins_with_a_level() -> None:
    """Of the server's metrics, that is: those of its process come from elsewhere."""
    found = {**helps(server("1.30")), **helps(server("1.30"), "/metrics/slis")}
    for name, text in found.items():
        if not name.startswith(("process_", "python_")):
            assert text.startswith(("[STABLE] ", "[BETA] ", "[ALPHA] ")), name
    assert found["apiserver_request_total"].startswith("[STABLE] ")
    assert found["kubernetes_healthcheck"].startswith("[STABLE] ")
    assert found["apiserver_flowcontrol_nominal_limit_seats"].startswith("[BETA] ")
    assert found["apiserver_audit_event_total"].startswith("[ALPHA] ")
    later = {name for name, row in FAMILIES.items() if row.since > "1.30"}
    assert FAMILIES.keys() - later <= found.keys()
    assert later <= helps(server("1.36")).keys()


def test_a_deprecated_metric_says_so_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The log line is written at its registration, which is the first read."""
    cluster = server("1.30")
    with caplog.at_level(logging.WARNING, logger="simkit.metrics"):
        assert helps(cluster)[OLD].startswith("[ALPHA] (Deprecated from 1.30) ")
        helps(cluster)
    assert [record.getMessage() for record in caplog.records] == [f"metric {OLD} is deprecated from 1.30"]


@pytest.mark.parametrize(
    ("release", "hidden", "there"),
    [
        ("1.29", "", True),
        ("1.30", "", True),
        ("1.32", "", True),
        ("1.33", "", False),
        ("1.33", "1.32", True),
        ("1.34", "", False),
        ("1.34", "1.33", False),
    ],
)
def test_it_is_hidden_after_three_releases_and_then_gone(release: str, hidden: str, there: bool) -> None:
    """Hidden ones can be had once more by the flag."""
    assert (OLD in helps(server(release, hidden=hidden))) is there


def test_before_it_was_deprecated_nothing_is_said() -> None:
    """A server of an older release."""
    assert helps(server("1.29"))[OLD].startswith("[ALPHA] The older name")


def test_only_the_release_before_can_be_asked_for() -> None:
    """With the words of kube-apiserver."""
    with pytest.raises(SimkitError, match=r"must be omitted or have the value '1\.32'"):
        server("1.33", hidden="1.31")
