"""Paths that unmodified default roles and bindings grant are left out, and counted."""

from __future__ import annotations

import pytest

import simkit
from simkit.analysis.rbac.default_objects import unchanged_defaults
from tests.analysis.worlds import binding

pytestmark = pytest.mark.slow


def test_every_question_skips_the_same_defaults() -> None:
    """Paths, causes, cut and plan of the demo cluster are about the same subjects; asked for, all are listed."""
    cluster = simkit.demo()
    snapshot = cluster.snapshot()
    shown, every = cluster.escalations(), cluster.escalations(include_defaults=True)
    assert shown.skipped == len(every) - len(shown) > 0
    assert not every.skipped
    defaults = unchanged_defaults(snapshot)
    for path in set(every) - set(shown):
        assert all(one.binding in defaults and one.role in defaults for one in path.grants[0])
    assert cluster.causes().paths == cluster.remediation_plan(best=1).paths == len(shown)
    cut = cluster.cut("cluster-admin")
    assert {path.subject for path in (*cut.closed, *cut.left)} == {path.subject for path in shown.to("cluster-admin")}


def test_a_subject_that_is_asked_for_is_not_skipped() -> None:
    """The controller's own paths are listed where it is named."""
    cluster = simkit.Cluster(seed=1)
    controller = "sa:kube-system/generic-garbage-collector"
    assert not cluster.escalations()
    assert cluster.escalations(controller)


def test_a_changed_default_is_shown() -> None:
    """A default binding with one more subject is nobody's default any more."""
    cluster = simkit.Cluster(seed=1)
    name = "system:controller:generic-garbage-collector"
    cluster.apply([binding(name, name, "user:ann", "sa:kube-system/generic-garbage-collector")])
    assert "user:ann" in {path.subject for path in cluster.escalations()}
