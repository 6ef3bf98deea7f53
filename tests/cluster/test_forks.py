"""Forks take over what their origin has derived, and go their own way from there."""

from __future__ import annotations

import pytest

import simkit
from simkit.engine.admission import webhook_index
from simkit.engine.pipeline import api_services
from simkit.schema.disabled_fields import FieldGates

HOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "w"},
    "webhooks": [
        {
            "name": "a.b.c",
            "clientConfig": {"service": {"namespace": "ops", "name": "hook"}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE"]}],
        }
    ],
}


@pytest.fixture
def cluster() -> simkit.Cluster:
    made = simkit.Cluster(seed=1)
    made.create(HOOK)
    return made


def test_a_fork_reads_webhooks_and_registrations_from_its_origin(
    cluster: simkit.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the origin has read already is not read again, so that the first write on a fork is cheap."""
    cluster.fork()

    def read_again(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(webhook_index, "webhook_accessors", read_again)
    monkeypatch.setattr(api_services, "api_service", read_again)
    fork = cluster.fork().fork()
    fork.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert fork.engine.registered.groups(fork.engine.catalogue)


def test_a_webhook_removed_on_a_fork_stays_on_its_origin(cluster: simkit.Cluster) -> None:
    """Shared indexes are replaced where something is written, not changed."""
    fork = cluster.fork()
    fork.delete("validatingwebhookconfiguration", "w")
    assert not fork._made.extensions.hooks.any()
    assert cluster._made.extensions.hooks.any()
    assert cluster.fork()._made.extensions.hooks.any()


def test_forks_share_the_trees_of_disabled_fields(cluster: simkit.Cluster) -> None:
    """The same release with the same gates has one of them."""
    values = cluster.engine.gates
    assert FieldGates.shared("1.30", values) is FieldGates.shared("1.30", dict(values))
    assert FieldGates.shared("1.29", values) is not FieldGates.shared("1.30", values)
