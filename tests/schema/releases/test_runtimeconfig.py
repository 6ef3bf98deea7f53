"""Versions and resources switched on and off, and feature gates by their stages."""

from __future__ import annotations

import pytest

from simkit.meta.errors import SimkitError
from simkit.schema.catalogue import Catalogue
from simkit.schema.feature_gates import parse_feature_gates
from simkit.schema.runtimeconfig import configured, gates_that_are_missing, parse

STORAGE = "storage.k8s.io/v1beta1"


def setting(release: str, text: str) -> set[str]:
    return {f"{each.api_version}/{each.resource}" for each in configured(release, parse(text)).resources()}


def test_an_empty_setting_is_the_default() -> None:
    """The very catalogue of the release."""
    assert configured("1.30", {}) is Catalogue.for_release("1.30")


@pytest.mark.parametrize(
    ("text", "there", "absent"),
    [
        ("batch/v1=false", (), ("batch/v1/jobs",)),
        ("batch/v2alpha1", ("batch/v2alpha1/cronjobs",), ()),
        (
            "storage/v1beta1/csinodes=false",
            (f"{STORAGE}/csidrivers",),
            (f"{STORAGE}/csinodes",),
        ),
        ("storage.k8s.io/v1beta1=false", ("storage.k8s.io/v1/csidrivers",), (f"{STORAGE}/csidrivers",)),
        ("api/alpha=true", ("batch/v2alpha1/cronjobs",), ()),
        ("api/beta=false", ("batch/v1/jobs",), ("batch/v1beta1/cronjobs",)),
        ("api/all=false,apps/v1=true", ("apps/v1/deployments",), ("batch/v1/jobs", "v1/pods")),
        ("api/ga=false,api/v1=true", ("v1/pods", "batch/v1beta1/cronjobs"), ("batch/v1/jobs",)),
        ("api/all=true", ("batch/v2alpha1/cronjobs", "batch/v1/jobs"), ()),
    ],
)
def test_settings_of_1_20(text: str, there: tuple[str, ...], absent: tuple[str, ...]) -> None:
    """A named version overrides settings of many versions, and a resource overrides its version."""
    found = setting("1.20", text)
    assert set(there) <= found
    assert not set(absent) & found


def test_versions_that_1_16_disabled_can_be_switched_on() -> None:
    """Versions of apps as versions, resources of extensions one by one, and no longer in 1.18."""
    assert "apps/v1beta1/deployments" in setting("1.16", "apps/v1beta1=true")
    assert "extensions/v1beta1/daemonsets" not in setting("1.17", "extensions/v1beta1=true")
    assert "extensions/v1beta1/daemonsets" in setting("1.17", "extensions/v1beta1/daemonsets=true")
    with pytest.raises(SimkitError, match="has no 'apps/v1beta1'"):
        setting("1.18", "apps/v1beta1=true")


@pytest.mark.parametrize("text", ["batch/v9", "api/some=true", "storage/v1/nosuch", "batch"])
def test_keys_that_name_nothing_are_refused(text: str) -> None:
    """The error says the release and the key."""
    with pytest.raises(SimkitError, match=r"release 1\.30 has no"):
        setting("1.30", text)


def test_a_server_serves_something() -> None:
    """All versions off and none on is refused."""
    with pytest.raises(SimkitError, match="invalid key with only api/all=false"):
        setting("1.30", "api/all=false")


def test_values_are_true_or_false() -> None:
    """Anything else is refused with the item."""
    with pytest.raises(SimkitError, match="'batch/v1=maybe'"):
        parse("batch/v1=maybe")


# Feature gates


def test_gates_have_the_defaults_of_their_stages() -> None:
    """Without settings, alpha gates are off, and there is no warning."""
    found = parse_feature_gates({})
    assert found.warnings == ()
    assert found.values["WatchList"] is False
    assert found.values["APIListChunking"] is True


def test_setting_a_gate_that_goes_warns() -> None:
    """Stable and deprecated ones, each with its word."""
    assert parse_feature_gates({"APIListChunking": True, "KMSv1": True}).warnings == (
        "Setting GA feature gate APIListChunking=true. It will be removed in a future release.",
        "Setting deprecated feature gate KMSv1=true. It will be removed in a future release.",
    )


def test_a_stable_gate_cannot_be_switched_off() -> None:
    """With the message of kube-apiserver."""
    with pytest.raises(
        SimkitError, match="cannot set feature gate APIListChunking to false, feature is locked to true"
    ):
        parse_feature_gates({"APIListChunking": False})


def test_unknown_gates_are_refused() -> None:
    """And a near one is named."""
    with pytest.raises(SimkitError, match="unrecognized feature gate: WatchLst; did you mean WatchList"):
        parse_feature_gates({"WatchLst": True})


def test_all_alphas_at_once() -> None:
    """A gate that is set by name keeps its value."""
    found = parse_feature_gates({"AllAlpha": True, "WatchList": False}).values
    assert found["APIServingWithRoutine"] is True
    assert found["WatchList"] is False


@pytest.mark.parametrize(
    ("release", "setting", "gate", "name"),
    [
        ("1.30", "storagemigration.k8s.io/v1alpha1", "StorageVersionMigrator", "storageversionmigrations"),
        ("1.33", "certificates.k8s.io/v1beta1", "ClusterTrustBundle", "clustertrustbundles"),
        ("1.34", "certificates.k8s.io/v1alpha1", "PodCertificateRequest", "podcertificaterequests"),
        ("1.36", "scheduling.k8s.io/v1alpha2", "GenericWorkload", "podgroups"),
    ],
)
def test_some_resources_need_their_feature_gate_as_well(release: str, setting: str, gate: str, name: str) -> None:
    """Without the gate they are not served, and a sentence says why."""
    on = {setting: True}
    assert name not in {each.resource for each in configured(release, on).resources()}
    assert name in {each.resource for each in configured(release, on, {gate: True}).resources()}
    assert any(f"feature gate {gate} is off" in text for text in gates_that_are_missing(release, on, {}))
    assert not [text for text in gates_that_are_missing(release, on, {gate: True}) if gate in text]


def test_no_gate_is_missing_where_nothing_was_switched_on() -> None:
    """A server with its defaults says nothing."""
    assert not list(gates_that_are_missing("1.36", {}, {}))


@pytest.mark.parametrize(
    ("release", "gates", "parts"),
    [
        ("1.32", {}, {"ephemeralcontainers"}),
        ("1.32", {"InPlacePodVerticalScaling": True}, {"ephemeralcontainers", "resize"}),
        ("1.33", {"InPlacePodVerticalScaling": False}, {"ephemeralcontainers"}),
        ("1.22", {}, set()),
        ("1.22", {"EphemeralContainers": True}, {"ephemeralcontainers"}),
        ("1.23", {"EphemeralContainers": False}, set()),
    ],
)
def test_subresources_come_with_their_gates(release: str, gates: dict[str, bool], parts: set[str]) -> None:
    """A pod can be resized, and take ephemeral containers, where the features are on."""
    found = configured(release, {}, gates).lookup("pods").subresources.keys()
    assert found & {"ephemeralcontainers", "resize"} == parts
    served = configured(release, {"api/alpha": True}, gates).lookup("pods").subresources.keys()
    assert served == found
