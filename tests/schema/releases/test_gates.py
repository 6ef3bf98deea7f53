"""Feature gates of every release: their stages, and what a server of the release makes of the flag."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simkit.meta.errors import SimkitError
from simkit.schema.feature_gates import history_of, is_enabled, known, names, parse_feature_gates
from simkit.schema.releases import RELEASES, minor_of
from tools.facts import read

REGISTRY_1_20 = Path(__file__).resolve().parents[3] / "tools" / "releases" / "gates-1.20.json"


def table(release: str) -> dict[str, list[object]]:
    """Gates as the sources tell them, without those that stand for many."""
    gates = known(release).values()
    return {each.name: [each.stage, each.default, each.locked] for each in gates if not each.name.startswith("All")}


def test_the_gates_of_1_30_are_those_observed() -> None:
    """Every gate of a running server, with its stage, default and lock, and no other."""
    facts = read("flags-1.30.json")
    seen = {**facts["featureGatesShownByHelp"], **facts["featureGatesGAOrDeprecatedNotShown"]}
    wanted = {name: [row["stage"], row["default"], row.get("locked", False)] for name, row in seen.items()}
    assert table("1.30") == {name: row for name, row in wanted.items() if not name.startswith("All")}


def test_the_gates_of_1_20_are_those_of_its_registry() -> None:
    """The only other release whose whole registry could be read by a script."""
    registry = json.loads(REGISTRY_1_20.read_text())
    assert table("1.20") == {name: row for name, row in registry.items() if not name.startswith("All")}


def test_lives_run_forward() -> None:
    """Releases in order, nothing after the end, an alpha that is on only where kube-apiserver has it so."""
    assert len(names()) > 400
    for name in names():
        changes = history_of(name)
        minors = [minor_of(change.release) for change in changes]
        assert minors == sorted(set(minors)), name
        assert all(change.gate is not None for change in changes[:-1]), name
    alphas = {
        gate.name for release in RELEASES for gate in known(release).values() if gate.stage == "ALPHA" and gate.default
    }
    assert alphas == {"WindowsHostNetwork"}


@pytest.mark.parametrize(
    ("gate", "release", "stage", "default"),
    [
        ("EphemeralContainers", "1.22", "ALPHA", False),
        ("EphemeralContainers", "1.23", "BETA", True),
        ("EphemeralContainers", "1.25", "GA", True),
        ("DynamicResourceAllocation", "1.32", "BETA", False),
        ("DynamicResourceAllocation", "1.34", "GA", True),
        ("UserNamespacesSupport", "1.33", "BETA", True),
        ("ClusterTrustBundle", "1.37", "GA", True),
        ("PodCertificateRequest", "1.37", "GA", True),
        ("DRAWorkloadResourceClaims", "1.37", "BETA", False),
        ("PodSecurity", "1.22", "ALPHA", False),
        ("ServerSideApply", "1.16", "BETA", True),
        ("KMSv1", "1.29", "DEPRECATED", False),
    ],
)
def test_stages_by_release(gate: str, release: str, stage: str, default: bool) -> None:
    """As the documentation of the release says."""
    found = known(release)[gate]
    assert (found.stage, found.default) == (stage, default)


@pytest.mark.parametrize(
    ("gate", "release", "hint"),
    [
        ("SidecarContainers", "1.27", "it comes with 1.28"),
        ("PodSecurity", "1.30", "it went with 1.28"),
        ("SidecarContaines", "1.30", "did you mean SidecarContainers"),
    ],
)
def test_a_gate_of_another_release_is_unknown(gate: str, release: str, hint: str) -> None:
    """The error says when it came or went, or names a near one."""
    with pytest.raises(SimkitError, match=f"^unrecognized feature gate: {gate}; {hint}"):
        parse_feature_gates({gate: True}, release)


def test_locked_gates_differ_by_release() -> None:
    """A stable gate that is not locked yet may be switched off, and warns."""
    assert parse_feature_gates({"ExecProbeTimeout": False}, "1.30").values["ExecProbeTimeout"] is False
    with pytest.raises(SimkitError, match="locked to true"):
        parse_feature_gates({"ExecProbeTimeout": False}, "1.35")


def test_all_betas_at_once() -> None:
    """Betas that are off go on, and those that are on go off; stable ones are not touched."""
    on, off = parse_feature_gates({"AllBeta": True}).values, parse_feature_gates({"AllBeta": False}).values
    assert on["UserNamespacesSupport"]
    assert not parse_feature_gates({}).values["UserNamespacesSupport"]
    assert not off["SidecarContainers"]
    assert off["APIListChunking"]


def test_a_feature_outlives_its_gate() -> None:
    """A stable feature is on when its gate is gone; an alpha that was given up is off."""
    assert is_enabled("SuspendJob", "1.30", parse_feature_gates({}).values)
    assert not is_enabled("MultiCIDRRangeAllocator", "1.30", parse_feature_gates({}).values)
    assert not is_enabled("SidecarContainers", "1.27", parse_feature_gates({}, "1.27").values)


@pytest.mark.parametrize("gate", ["PreventStaticPodAPIReferences", "GangScheduling", "WorkloadAwarePreemption"])
def test_gates_that_went_before_1_37_was_released(gate: str) -> None:
    """Its first candidate had them; a component does not start with them."""
    assert gate in known("1.36")
    assert gate not in known("1.37")
