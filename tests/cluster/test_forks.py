"""Forks take over what their origin has derived, and go their own way from there."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import simkit
from simkit.cluster.parts import PARTS, Part
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


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_other_ways_of_copying_name_the_right_one(cluster: simkit.Cluster, way: Callable[[object], object]) -> None:
    with pytest.raises(simkit.SimkitError, match=r"fork\(\) copies it"):
        way(cluster)


@pytest.fixture
def cluster() -> simkit.Cluster:
    made = simkit.Cluster(seed=1)
    made.create(HOOK)
    return made


def test_a_fork_reads_webhooks_and_registrations_from_its_origin(
    cluster: simkit.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork does not read again what its origin has read, so that its first write is cheap."""
    cluster.fork()

    def read_again(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(webhook_index, "webhook_accessors", read_again)
    monkeypatch.setattr(api_services, "api_service", read_again)
    fork = cluster.fork().fork()
    fork.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert fork.engine.api_services.groups(fork.engine.catalogue)


def test_a_webhook_removed_on_a_fork_stays_on_its_origin(cluster: simkit.Cluster) -> None:
    """Shared indexes are replaced where something is written, not changed."""
    fork = cluster.fork()
    fork.delete("validatingwebhookconfiguration", "w")
    assert not fork._control_plane.extensions.webhooks.any()
    assert cluster._control_plane.extensions.webhooks.any()
    assert cluster.fork()._control_plane.extensions.webhooks.any()


def test_forks_share_the_trees_of_disabled_fields(cluster: simkit.Cluster) -> None:
    """The same release with the same gates has one of them."""
    values = cluster.engine.gates
    assert FieldGates.shared("1.30", values) is FieldGates.shared("1.30", dict(values))
    assert FieldGates.shared("1.29", values) is not FieldGates.shared("1.30", values)


def test_a_part_without_fork_cannot_be_added() -> None:
    """Whoever adds a part has to say what becomes of it in a fork."""
    make: Any = lambda server: object()  # noqa: E731
    with pytest.raises(TypeError, match="fork"):
        Part("forgotten", make)  # type: ignore[call-arg]


def test_a_control_plane_holds_nothing_but_its_settings_and_parts(cluster: simkit.Cluster) -> None:
    """A member outside of the list of parts would not be forked."""
    settings = {"options", "store", "dumped", "captured", "rested", "calls", "forked", "clock", "loaded"}
    assert vars(cluster._control_plane).keys() == settings | {part.name for part in PARTS}
    assert vars(cluster.fork()._control_plane).keys() == vars(cluster._control_plane).keys()


def test_a_fork_shares_no_part_but_what_never_changes(cluster: simkit.Cluster) -> None:
    """Only the feature gates, the signing key, the catalogue and the snapshot of the moment are parts of both."""
    cluster.add_nodes(1)
    cluster.snapshot()
    fork = cluster.fork()
    same = {
        part.name
        for part in PARTS
        if getattr(fork._control_plane, part.name) is getattr(cluster._control_plane, part.name)
    }
    assert same == {"gates", "base", "token_key", "latest"}
