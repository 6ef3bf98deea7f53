"""As whom controllers act."""

from __future__ import annotations

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options


def actors(own: bool) -> set[str]:
    """The users who sent requests while a namespace was made and removed, without the administrator and the server."""
    cluster = Cluster(options=Options(seed=1, audit_policy="Metadata", use_service_account_credentials=own))
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    cluster.settle()
    assert cluster.get("serviceaccount", "default", "team")
    cluster.delete("namespace", "team")
    cluster.settle()
    users = {event["user"]["username"] for event in cluster.audit_log()}
    return {user for user in users if user.startswith("system:") and user != "system:apiserver"}


def test_own_accounts() -> None:
    """Each controller acts as an account of its own."""
    found = actors(own=True)
    assert "system:serviceaccount:kube-system:namespace-controller" in found
    assert all(user.startswith("system:serviceaccount:kube-system:") for user in found)


def test_one_user() -> None:
    """Without accounts of their own all act as one user, whose default role lets it do some things and not others."""
    assert actors(own=False) == {"system:kube-controller-manager"}
