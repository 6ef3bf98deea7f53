"""The tables of other tools against the catalogue, row by row, with the errors of each side named.

The tables lie beside this file: what the tools publish of removed versions (kinds of lists left out). Pluto's is of
2022, before it got rows for flow control; kubent's and mapkubeapis' end with 1.32 and 1.29.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from simkit.schema.lifecycle import Lifecycle, all_lifecycles, lifecycle_of
from simkit.schema.releases import minor_of
from tools.facts import read

TABLES: Final = Path(__file__).with_name("published")
TOOLS: Final = ("pluto", "kubent", "mapkubeapis")
RBAC, SCHEDULING, FLOW = (
    "rbac.authorization.k8s.io/v1alpha1",
    "scheduling.k8s.io/v1alpha1",
    "flowcontrol.apiserver.k8s.io",
)
KINDS_OF_RBAC: Final = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")

NEVER_SERVED: Final = {
    "apps/v1beta1 ReplicaSet": "no release had it; the upstream guide says so, and the tables copy it",
    f"{FLOW}/v1beta1 FlowControl": "the group's name taken for a kind",
}
"""Rows about nothing."""

WRONG_REMOVAL: Final = {
    **{f"{RBAC} {kind}": "served, switched off, until 1.22; gone in 1.23" for kind in KINDS_OF_RBAC},
    f"{SCHEDULING} PriorityClass": "served, switched off, until 1.22; gone in 1.23",
}
"""Rows whose release of removal is not that of the packages."""

NOT_THE_NEWEST: Final = {
    "extensions/v1beta1 Ingress": "networking.k8s.io/v1beta1 went in the same release",
}
"""Rows that send people to a version which does not help them."""


def rows(tool: str) -> Iterator[dict[str, str]]:
    with (TABLES / f"{tool}.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def name(row: dict[str, str]) -> str:
    return f"{row['apiVersion']} {row['kind']}"


def replaced_since(row: dict[str, str]) -> str:
    """Since when there is what the row names as replacement."""
    found = lifecycle_of(row["replacement"], row["kind"]) if row["replacement"] else None
    return found.introduced if found is not None else ""


@pytest.mark.parametrize("tool", TOOLS)
def test_kinds_that_were_never_served_are_named(tool: str) -> None:
    """All others are in the catalogue."""
    for row in rows(tool):
        assert (lifecycle_of(row["apiVersion"], row["kind"]) is None) == (name(row) in NEVER_SERVED), name(row)


@pytest.mark.parametrize("tool", TOOLS)
def test_removals_agree_or_are_named_errors(tool: str) -> None:
    """The release without the version; where a table errs, the catalogue's release is what packages show."""
    for row in rows(tool):
        found = lifecycle_of(row["apiVersion"], row["kind"])
        if found is None:
            continue
        assert (found.removed != row["removed"]) == (name(row) in WRONG_REMOVAL), name(row)
        if name(row) in WRONG_REMOVAL:
            assert found.removed == "1.23"


@pytest.mark.parametrize("tool", TOOLS)
def test_replacements_agree_or_are_named_errors(tool: str) -> None:
    """The version to use instead."""
    for row in rows(tool):
        found = lifecycle_of(row["apiVersion"], row["kind"])
        if found is None or not row["replacement"]:
            continue
        agrees = found.instead.split(" ")[0] == row["replacement"]
        newer = f"{row['replacement']} {row['kind']}" in all_lifecycles() and found.api_version.startswith(FLOW)
        wrong = name(row) in NOT_THE_NEWEST and row["replacement"] == "networking.k8s.io/v1beta1"
        assert agrees or newer or wrong, name(row)


@pytest.mark.parametrize("tool", TOOLS)
def test_deprecations_differ_only_in_what_is_meant(tool: str) -> None:
    """Releases from which on servers warn are tagged; tables often name when the replacement came, or a guide's word."""
    meant = 0
    for row in rows(tool):
        found = lifecycle_of(row["apiVersion"], row["kind"])
        if found is None or not row["deprecated"] or found.deprecated == row["deprecated"]:
            continue
        meant += 1
        said = row["deprecated"]
        came = replaced_since(row)
        alpha = "alpha" in row["apiVersion"] and not found.deprecated
        in_between = came and minor_of(came) <= minor_of(said) <= minor_of(found.removed)
        before = row["apiVersion"].startswith(("extensions/", "apps/")) and minor_of(said) <= 19
        assert alpha or said == came or in_between or before, name(row)
    assert meant


def test_no_named_error_is_out_of_date() -> None:
    """Every one stands in some table."""
    seen = {name(row) for tool in TOOLS for row in rows(tool)}
    assert {*NEVER_SERVED, *WRONG_REMOVAL, *NOT_THE_NEWEST} <= seen


def gone(found: Lifecycle) -> bool:
    """True if a version was removed between 1.16 and 1.32 and was no alpha: every such table should have it."""
    return bool(found.removed) and 16 <= minor_of(found.removed) <= 32 and "alpha" not in found.api_version


def test_versions_that_the_tables_lack() -> None:
    """Versions that went, and of which nobody who reads a table alone is told."""
    wanted = {f"{each.api_version} {each.kind}" for each in all_lifecycles().values() if gone(each)}
    lacks = {tool: sorted(wanted - {name(row) for row in rows(tool)}) for tool in TOOLS}
    assert "authorization.k8s.io/v1beta1 SelfSubjectRulesReview" in lacks["kubent"]
    assert "events.k8s.io/v1beta1 Event" in lacks["kubent"]
    assert "autoscaling/v2beta1 HorizontalPodAutoscaler" in lacks["kubent"]
    assert "discovery.k8s.io/v1beta1 EndpointSlice" in lacks["mapkubeapis"]
    assert "authorization.k8s.io/v1beta1 SubjectAccessReview" in lacks["pluto"]
    everywhere = set.intersection(*map(set, lacks.values()))
    assert "apps/v1beta1 ControllerRevision" in everywhere
    assert all(len(found) >= 10 for found in lacks.values())


# kubepug has no table of its own: it reads the lifecycle tags of the newest sources


def test_tags_agree_with_what_packages_show() -> None:
    """But for alphas, which went earlier than announced; of what left the newest sources, tags say nothing any more."""
    tags = read("lifecycle-tags.json")
    differ, newest = set(), set()
    for group, version, kind, tag in tags:
        element = f"{group}/{version} {kind}" if group else f"{version} {kind}"
        if tag["tag"] == "HEAD":
            newest.add(element)
        found = all_lifecycles().get(element)
        if found is not None and minor_of(tag.get("removed", "1.99")) <= 37 and found.removed != tag["removed"]:
            differ.add(element)
    assert {element.partition("/")[2].partition(" ")[0].rstrip("0123456789") for element in differ} <= {"v1alpha"}
    assert "coordination.k8s.io/v1alpha1 LeaseCandidate" in differ
    assert "resource.k8s.io/v1alpha3 ResourceSlice" in differ
    for element in ("autoscaling/v2beta1 HorizontalPodAutoscaler", "policy/v1beta1 PodSecurityPolicy"):
        assert element in all_lifecycles()
        assert element not in newest
