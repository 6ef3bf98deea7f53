"""Pods of clusters up to release 1.24 whose pod security policies are not evaluated."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.seams.caveats import NOT_HELD

POLICY = {
    "apiVersion": "policy/v1beta1",
    "kind": "PodSecurityPolicy",
    "metadata": {"name": "restricted"},
    "spec": {name: {"rule": "RunAsAny"} for name in ("seLinux", "runAsUser", "supplementalGroups", "fsGroup")},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "web"}]},
}


@pytest.mark.parametrize("stored", [False, True])
def test_answers_tell_of_policies_that_were_not_evaluated(*, stored: bool) -> None:
    """Where policies are stored, a plan with pods says that they may refuse them, and a request gets a warning."""
    cluster = Cluster(options=Options(release="1.24"))
    if stored:
        cluster.apply(POLICY)
    note = "PodSecurityPolicies were not evaluated for 1 object, and may refuse or change them."
    assert (note in cluster.plan(POD).notes) == stored
    answer = cluster.perform(Request.of("POST", "/api/v1/namespaces/default/pods", POD))
    assert answer.status == 201
    assert (NOT_HELD in answer.warnings) == stored


def test_the_plugin_cannot_be_turned_on() -> None:
    """Whoever asks for the plugin is told that it is not simulated."""
    with pytest.raises(SimkitError, match='plugin "PodSecurityPolicy" is not simulated'):
        Cluster(options=Options(release="1.24", enable_admission_plugins=["PodSecurityPolicy"]))
