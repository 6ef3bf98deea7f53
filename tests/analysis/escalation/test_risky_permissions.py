"""The effects of grants, also if the cluster has nothing to use them on."""

from __future__ import annotations

import pytest

from simkit.analysis.escalation import Primitive, primitives, risky_permissions
from simkit.cluster.cluster import Cluster
from simkit.cluster.loading import load
from simkit.meta.errors import SimkitError
from tests.analysis.escalation.scenes import ATTACKER, RBAC, scene, served
from tests.analysis.worlds import account, binding, role, rule

EVERY = primitives().primitives


@pytest.mark.parametrize("primitive", [one for one in EVERY if one.fixtures], ids=lambda one: one.id)
def test_lent_objects_are_in_the_table(primitive: Primitive) -> None:
    """Each word stands for something that an administrator can put there."""
    assert set(primitive.fixtures) <= primitives().fixtures.keys()


@pytest.mark.parametrize(
    ("primitive", "granted", "lent"),
    [
        ("D5", rule("create", "pods/exec"), "a running pod"),
        ("C1", rule("get", "secrets"), "a secret with a token"),
        ("D2", rule("patch", "deployments", groups="apps"), "an object of deployments.apps"),
        ("E1", rule("get", "nodes/proxy"), "a node"),
        ("D9", rule("create", "pods"), "service account lent and a node"),
        ("E8", rule("update", "leases", groups="coordination.k8s.io"), "leases.coordination.k8s.io"),
        ("C7", rule("create", "secrets"), "a binding of bootstrapping nodes"),
        ("A10", rule("create,escalate", "clusterroles,roles", groups=RBAC), "bindings whose role is gone"),
        ("D10", rule("patch", "namespaces"), "a pod security level"),
    ],
)
def test_manifests_alone_are_tried_on_something_lent(primitive: str, granted: dict[str, object], lent: str) -> None:
    """A role that is read from a manifest: nothing is there to use it on, and it is executed all the same."""
    manifests = [account("lab", "probe"), role("probe", granted), binding("probe", "probe", "sa:lab/probe")]
    cluster = load(manifests, manifests=True)
    row = cluster.risky_permissions("sa:lab/probe").set_index("primitive").loc[primitive]
    assert (row["flagged"], row["verdict"]) == (True, "possible"), row["reason"]
    assert lent in row["reason"]
    assert not cluster.list("nodes"), "the cluster itself is not touched"


def test_a_resource_that_is_not_served_is_reported() -> None:
    """Objects of an operator that is not there."""
    cluster = served(*scene(rule("create", "kustomizations", groups="kustomize.toolkit.fluxcd.io"), place=""))
    row = cluster.risky_permissions(ATTACKER).set_index("primitive").loc["J1"]
    assert row["verdict"] == "not executed"
    assert row["reason"] == "the cluster does not serve kustomizations.kustomize.toolkit.fluxcd.io"


def test_permissions_of_everybody_are_marked() -> None:
    """So that what a subject has of its own stands out."""
    objects = [role("all", rule("list", "secrets")), binding("all", "all", "group:system:authenticated")]
    cluster = served(*scene(rule("create", "serviceaccounts/token"), place=""), *objects)
    found = risky_permissions(cluster.snapshot(), ATTACKER).set_index("primitive")["everybody"]
    assert found["C2"]
    assert not found["C5"]


def test_everybody_whom_own_bindings_name() -> None:
    """Without a subject: those whom the server's own bindings do not name already."""
    cluster = served(*scene(rule("create", "pods/exec"), place=""))
    found = risky_permissions(cluster.snapshot())
    assert set(found["subject"]) == {ATTACKER}


def test_groups_of_everybody_and_of_masters_are_told() -> None:
    """Rows without grants, and of no doing."""
    cluster = served(role("all", rule("list", "secrets")), binding("all", "all", "group:system:authenticated"))
    snapshot = cluster.snapshot()
    assert "A3" in set(risky_permissions(snapshot, "group:system:masters")["primitive"])
    assert "A12" in set(risky_permissions(snapshot, "group:system:authenticated")["primitive"])
    assert "A12" not in set(risky_permissions(snapshot, "alice")["primitive"])


def test_later_releases_bring_more() -> None:
    """A mutating policy is executed at a release that serves it, and told at one that does not."""
    rules = rule(
        "create", "mutatingadmissionpolicies,mutatingadmissionpolicybindings", groups="admissionregistration.k8s.io"
    )
    objects = [account("lab", "probe"), role("probe", rules), binding("probe", "probe", "sa:lab/probe")]
    verdicts = {}
    for release in ("1.30", "1.36"):
        cluster = Cluster(release, seed=1)
        for obj in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}, *objects):
            cluster.apply([obj])
        row = cluster.risky_permissions("sa:lab/probe").set_index("primitive").loc["G4"]
        verdicts[release] = (row["flagged"], row["verdict"])
    assert verdicts == {"1.30": (False, "not executed"), "1.36": (True, "proven, 1 assumed")}


def test_a_pod_holds_no_risky_permissions_of_its_own() -> None:
    """The message says whom to name."""
    with pytest.raises(SimkitError, match="name a user, a group or a service account"):
        risky_permissions(
            load(
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "d"}, "spec": {}},
                captured=["*"],
            ).snapshot(),
            "pod:d/p",
        )
