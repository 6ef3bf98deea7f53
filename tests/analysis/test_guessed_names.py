"""Names that people guess who know pandas: slices, filters, and the reason of a decision."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.meta.errors import UnknownNamespace


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return simkit.demo()


def test_an_audit_is_a_sequence(cluster: Cluster) -> None:
    """Its length, its elements and its slices agree."""
    audit = cluster.audit()
    assert list(audit) == list(audit.findings)
    assert audit[0] == audit.findings[0]
    assert len(audit[:3]) == 3
    assert audit[:3].skipped == audit.skipped
    assert not audit[:0]


def test_an_audit_can_be_narrowed(cluster: Cluster) -> None:
    """The same by an argument and afterwards."""
    audit = cluster.audit()
    narrowed = audit.filter(severity="medium", namespace="billing")
    assert narrowed.to_frame().equals(cluster.findings(severity="medium", namespace="billing"))
    assert 0 < len(narrowed) < len(audit)
    assert set(audit.filter(check=audit[0].check).to_frame()["check"]) == {audit[0].check}
    assert audit.filter() == audit


def test_a_decision_says_why(cluster: Cluster) -> None:
    allowed = cluster.can("group:system:masters", "get", "pods")
    assert allowed.why == "members of system:masters can do anything, without a binding"
    assert cluster.can("user:nobody", "get", "pods").why


def test_a_namespace_that_does_not_exist_gets_a_warning(cluster: Cluster) -> None:
    """The answer is given, since the namespace may come; a resource without a namespace gets none."""
    with pytest.warns(UnknownNamespace, match="there is no namespace 'biling'; did you mean 'billing'"):
        assert len(cluster.who_can("get", "secrets", namespace="biling"))
    with pytest.warns(UnknownNamespace):
        cluster.audit(namespace="biling")
    cluster.who_can("get", "nodes", namespace="biling")


def test_themes_of_pictures_are_found(cluster: Cluster) -> None:
    """Whoever looks for the colours among the arguments of ``plot`` is told where they are."""
    answers: list[Any] = [cluster.escalations("group:oidc:helpdesk"), cluster.findings()]
    for answer in answers:
        with pytest.raises(TypeError, match=r"with simkit\.analysis\.plots\.theme\('dark'\)"):
            answer.plot(theme="dark")


def test_leftovers_have_one_name(cluster: Cluster) -> None:
    """``stale`` stands for the checks for leftovers, alone and among others."""
    stale = cluster.findings(checks="stale")
    assert {"unused-role", "missing-role", "empty-binding"} <= set(stale["check"])
    assert set(cluster.findings(checks=["stale", "cluster-admin"])["check"]) == {*stale["check"], "cluster-admin"}


def test_plots_need_no_import_of_their_own() -> None:
    """``simkit.analysis.plots``, as errors name it, is there once simkit is imported."""
    code = "import simkit, sys; print('matplotlib' in sys.modules, simkit.analysis.plots.theme.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False theme\n"
