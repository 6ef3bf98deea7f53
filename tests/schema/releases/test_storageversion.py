"""Storage versions of releases in discovery."""

from __future__ import annotations

import json

import pytest

import simkit
from simkit.meta.message import Request
from simkit.schema.catalogue import Catalogue
from simkit.schema.discovery import resource_list
from simkit.schema.releases import RELEASES
from simkit.schema.storageversion import hashed_as, stored_as


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_stores_what_it_knows(release: str) -> None:
    """No version that comes later is named, nor one that is gone."""
    catalogue = Catalogue.for_release(release, everything=True)
    for resource in catalogue.stored():
        if catalogue.group(resource.storage.group) is not None:
            assert catalogue.kind(stored_as(release, resource)) is not None, resource


@pytest.mark.parametrize(
    ("release", "word", "version"),
    [
        ("1.20", "cronjobs.batch", "v1beta1"),
        ("1.20", "ingresses.networking.k8s.io", "v1beta1"),
        ("1.20", "runtimeclasses", "v1"),
        ("1.24", "csistoragecapacities", "v1beta1"),
        ("1.25", "csistoragecapacities", "v1"),
        ("1.30", "cronjobs.batch", "v1"),
        ("1.29", "flowschemas", "v1beta3"),
        ("1.30", "validatingadmissionpolicies", "v1beta1"),
        ("1.31", "validatingadmissionpolicybindings", "v1"),
    ],
)
def test_a_new_version_is_not_stored_at_once(release: str, word: str, version: str) -> None:
    """One can go back to the release before, which does not know it."""
    assert stored_as(release, Catalogue.for_release(release).lookup(word)).version == version


@pytest.mark.parametrize(
    ("release", "word", "hashed", "stored"),
    [
        ("1.24", "endpointslices", "v1beta1", "v1beta1"),
        ("1.30", "endpointslices", "v1beta1", "v1"),
        ("1.31", "endpointslices", "v1", "v1"),
        ("1.26", "poddisruptionbudgets", "v1beta1", "v1"),
        ("1.27", "poddisruptionbudgets", "v1", "v1"),
        ("1.26", "horizontalpodautoscalers", "v1", "v1"),
        ("1.27", "horizontalpodautoscalers", "v2", "v2"),
        ("1.24", "flowschemas", "v1beta1", "v1beta1"),
        ("1.36", "customresourcedefinitions", "v1beta1", "v1"),
    ],
)
def test_old_versions_are_stored_for_long(release: str, word: str, hashed: str, stored: str) -> None:
    """Discovery shows the hash of a version that is stored but not served; nothing is written in such a version here."""
    resource = Catalogue.for_release(release).lookup(word)
    assert (hashed_as(release, resource).version, stored_as(release, resource).version) == (hashed, stored)


@pytest.mark.parametrize(("release", "singular"), [("1.26", ""), ("1.27", "pod")])
def test_singular_names(release: str, singular: str) -> None:
    """Built-in resources have one in discovery since 1.27."""
    cluster = simkit.Cluster(release, seed=1)
    entries = json.loads(cluster.perform(Request.of("GET", "/api/v1")).body)["resources"]
    assert {each["singularName"] for each in entries if each["name"] == "pods"} == {singular}


def test_discovery_tells_it_by_a_hash() -> None:
    """Both versions of a release show the same one."""
    entries = resource_list(Catalogue.for_release("1.20"), "batch", "v1beta1")["resources"]
    assert [each["storageVersionHash"] for each in entries if each["name"] == "cronjobs"] == ["h/JlFAZkyyY="]
