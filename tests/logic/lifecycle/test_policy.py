"""The policy over the worked timeline, over histories that break one rule each, and over real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from simkit.logic.lifecycle import History, check, of_releases, read_history
from simkit.meta.errors import SimkitError

WORKED = Path(__file__).with_name("worked.yaml")
SERVED = {
    "X": "v1alpha1",
    "X+1": "v1alpha2",
    "X+2": "v1beta1",
    "X+3": "v1beta1 v1beta2",
    "X+4": "v1beta1 v1beta2",
    "X+5": "v1beta1 v1beta2 v1",
    "X+6": "v1beta2 v1",
    "X+7": "v1beta2 v1",
    "X+8": "v1 v2alpha1",
    "X+9": "v1 v2alpha2",
    "X+10": "v1 v2beta1",
    "X+11": "v1 v2beta1 v2beta2",
    "X+12": "v1 v2beta1 v2beta2 v2",
    "X+13": "v1 v2beta1 v2beta2 v2",
    "X+14": "v1 v2beta2 v2",
    "X+15": "v1 v2",
}


def worked(**changes: dict[str, Any]) -> History:
    """The worked timeline with other values for some versions."""
    document = yaml.safe_load(WORKED.read_text(encoding="utf-8"))
    for version in document["groups"][0]["versions"]:
        version.update(changes.get(version["name"], {}))
    return History.model_validate(document)


@pytest.mark.parametrize("edition", ["B", "C"])
def test_the_worked_timeline_complies(edition: str) -> None:
    """The policy's own table breaks nothing."""
    assert check(worked(), edition=edition) == []


def test_the_worked_timeline_serves_what_the_table_says() -> None:
    """Release by release."""
    history = worked()
    calendar, versions = history.calendar, history.groups[0].versions
    for release, served in SERVED.items():
        place = calendar.position(release)
        assert {one.name for one in versions if one.is_served(place, calendar)} == {*served.split()}


def test_stable_versions_could_go_under_the_first_edition_only() -> None:
    """The first edition's table ends with the removal of v1, which the present one forbids."""
    history = worked(v1={"removed": "X+17"})
    assert check(history, edition="A") == []
    assert [(each.rule, each.element) for each in check(history)] == [("4a", "example.com/v1")]
    early = worked(v1={"removed": "X+14"})
    assert [str(each.earliest) for each in check(early, edition="A")] == ["X+15 (2025-01-15)"]


@pytest.mark.parametrize(
    ("change", "rule", "earliest"),
    [
        ({"v1beta1": {"removed": "X+5"}}, "4a", "X+6"),
        ({"v1beta1": {"deprecated": ""}}, "4a", None),
        ({"v2beta2": {"deprecated": "X+15", "removed": ""}}, "4a", None),
        ({"v1beta2": {"replacement": "v2alpha1"}}, "3", None),
        ({"v1beta1": {"replacement": "v1"}}, "3", "X+5"),
        ({"v1beta1": {"removed": "X+4"}}, "4b", None),
    ],
)
def test_a_change_of_the_worked_timeline_breaks_a_rule(change: dict[str, Any], rule: str, earliest: str | None) -> None:
    """Each change is found under its rule, with the release from which it would be fine."""
    found = [each for each in check(worked(**change)) if each.rule == rule]
    assert found
    if earliest is not None:
        assert found[0].earliest is not None
        assert found[0].earliest.name == earliest


ONE_EACH = """
releases: [{name: r0, date: 2024-01-01}, {name: r1, date: 2024-05-01}, {name: r2, date: 2024-09-01}]
groups:
- name: g
  versions: [{name: v1, introduced: r0}]
  storage: {r0: v1}
elements:
- {sort: field, name: Shop.size, group: g, version: v1, removed: r1}
- {sort: enumerated value, name: Shop.kind=Small, group: g, version: v1, changes: [{release: r1, what: refused}]}
- {sort: annotation, name: alpha.g/size, group: g, version: v1, removed: r1}
- {sort: field, name: Shop.size, group: g, version: v1alpha1, removed: r1}
protobuf:
- {message: Shop, name: size, number: 1, introduced: r0, removed: r1}
- {message: Shop, name: colour, number: 1, introduced: r2}
round_trips:
- {release: r1, kind: Shop, between: [g/v1, g/v1beta1], lost: [spec.size]}
flags:
- {name: --user, deprecated: r0, removed: r1}
- {name: --admin, audience: admin, deprecated: r0, removed: r1}
- {name: --fine, audience: admin, deprecated: r0, removed: r2}
- {name: --less, deprecated: r1, replacement: {name: --new, stability: beta}}
- {name: --silent, deprecated: r1, warns: false}
- {name: --alpha, stability: alpha, deprecated: r0, removed: r1}
behaviors:
- {name: rounding, deprecated: r0, removed: r2}
- {name: colours, deprecated: r1, replacement: {name: paint, stability: alpha}}
- {name: others, deprecated: r1, replacement: {name: theirs, ours: false}}
gates:
- name: Soon
  stages: [{release: r0, stage: beta, default: true}, {release: r1, stage: ga, default: true, locked: true}]
  removed: r2
- {name: Alpha, stages: [{release: r0, stage: alpha, default: true}]}
- {name: Quiet, stages: [{release: r0, stage: ga, default: true, locked: true}], warns: false, help: false}
metrics:
- {name: short, stability: stable, introduced: r0, removed: r1, deprecated: r0}
- {name: unsaid, stability: beta, deprecated: r1, help: Counts., warns: false}
- {name: alpha, introduced: r0, removed: r1}
"""


def test_each_rule_finds_its_breach_and_nothing_else() -> None:
    """Of every kind of element one that breaks its rule, beside some that do not."""
    found = [(each.rule, each.element) for each in check(read_history(ONE_EACH))]
    assert found == [
        ("1", "field Shop.size of g/v1"),
        ("1", "enumerated value Shop.kind=Small of g/v1"),
        ("1", "protobuf field Shop.colour"),
        ("2", "Shop g/v1 through g/v1beta1"),
        ("5a", "flag --user"),
        ("5b", "flag --admin"),
        ("5c", "flag --less"),
        ("6", "flag --silent"),
        ("7", "behaviour rounding"),
        ("8", "behaviour colours"),
        ("8", "behaviour others"),
        ("9", "feature gate Soon"),
        ("9", "feature gate Alpha"),
        ("10", "feature gate Quiet"),
        ("11a", "metric short"),
        ("11b", "metric short"),
        ("11b", "metric unsaid"),
        ("11b", "metric unsaid"),
    ]


def test_documents_are_refused_with_every_error() -> None:
    """All wrong places are named, not the first alone."""
    with pytest.raises(SimkitError, match=r"cadence_months.*groups\.0\.name"):
        read_history("groups: [{versions: []}]\ncadence_months: often\n")


def test_an_unknown_edition_is_refused() -> None:
    """The error names the editions."""
    with pytest.raises(SimkitError, match="choose from A, B, C"):
        check(worked(), edition="D")


# Real histories


def of_group(name: str, edition: str) -> set[tuple[str, str, str]]:
    return {(each.rule, each.element, each.weight) for each in check(of_releases([name]), edition=edition)}


def test_the_last_beta_of_flow_control_complied() -> None:
    """v1beta3: served in 1.26, deprecated in 1.29, gone in 1.32."""
    found = of_group("flowcontrol.apiserver.k8s.io", "C")
    assert not any("v1beta3" in element for _, element, weight in found if weight == "breach")


def test_admission_policies_complied() -> None:
    """v1beta1: served in 1.28, deprecated in 1.31, gone in 1.34."""
    found = of_group("admissionregistration.k8s.io", "C")
    assert not any("ValidatingAdmissionPolicy" in element for _, element, _ in found)


def test_the_first_beta_of_autoscaling_stayed_too_long() -> None:
    """v2beta1 was deprecated 14 releases after it came; today's edition forbids it, the older ones did not."""
    name = "autoscaling/v2beta1 HorizontalPodAutoscaler"
    assert ("4a", name, "breach") in of_group("autoscaling", "C")
    assert ("4a", name, "notice") in of_group("autoscaling", "A")


def test_workloads_outside_apps_complied_with_the_edition_of_their_time() -> None:
    """extensions/v1beta1 was deprecated years before 1.16 switched it off."""
    found = of_group("extensions", "A")
    assert not any(weight == "breach" for _, _, weight in found)


def test_alphas_may_go_at_any_time() -> None:
    """resource.k8s.io/v1alpha3 went earlier than announced, which is no breach."""
    found = of_group("resource.k8s.io", "C")
    assert not any("alpha" in element for _, element, _ in found)


def test_fields_that_went_from_stable_versions_are_found() -> None:
    """Topology keys of services, and the name of the cluster in every object's metadata."""
    history = of_releases([""], fields=True)
    found = [each for each in check(history) if each.rule == "1"]
    assert any("ServiceSpec.topologyKeys" in each.element and "1.22" in each.evidence for each in found)
    assert any("ObjectMeta.clusterName" in each.element for each in found)


def test_gates_that_went_too_early_are_found() -> None:
    """Some were gone one release after their features became stable, where two are due; others were as they should."""
    found = [each for each in check(of_releases([""], gates=True)) if each.rule == "9" and each.weight == "breach"]
    early = {each.element: str(each.earliest) for each in found if "removed" in each.evidence}
    assert early == {
        "feature gate TokenRequest": "1.22 (2021-08-04)",
        "feature gate TokenRequestProjection": "1.22 (2021-08-04)",
        "feature gate BoundServiceAccountTokenVolume": "1.24 (2022-05-03)",
        "feature gate CronJobControllerV2": "1.24 (2022-05-03)",
        "feature gate KubeletPodResourcesGetAllocatable": "1.30 (2024-04-17)",
        "feature gate ProbeTerminationGracePeriod": "1.30 (2024-04-17)",
        "feature gate PreventStaticPodAPIReferences": "1.38 (about 2026-12-26)",
        "feature gate RetroactiveDefaultStorageClass": "1.30 (2024-04-17)",
    }
    odd = {each.element: each.evidence for each in found if "default" in each.evidence}
    assert odd == {
        "feature gate LegacyNodeRoleBehavior": "off by default as ga in 1.21",
        "feature gate WindowsHostNetwork": "on by default as alpha in 1.26",
    }


def test_real_histories_that_broke_the_policy_are_found() -> None:
    """By name: betas that went without being deprecated, stayed for ever, or went early under the present edition."""
    found = {(each.rule, each.element): each for each in check(of_releases()) if each.weight == "breach"}
    late = found["4a", "autoscaling/v2beta1 HorizontalPodAutoscaler"]
    assert "after its introduction" in late.evidence
    assert ("4a", "extensions/v1beta1 Ingress") in found
    assert ("4a", "policy/v1beta1 PodSecurityPolicy") in found
    assert not any(element.startswith("flowcontrol.apiserver.k8s.io/v1beta3") for _, element in found)
