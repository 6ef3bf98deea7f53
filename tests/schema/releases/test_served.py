"""Served versions of releases: against facts measured from packages, and against published tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson
import pytest

from simkit.meta.errors import SimkitError
from simkit.schema import lifecycle
from simkit.schema.catalogue import Catalogue
from simkit.schema.definitions import table_of
from simkit.schema.releases import BASE, RELEASES, minor_of, release, release_name
from tests.shared import SHARED, needs_shared
from tools.facts import read

VERDICTS: Final = SHARED / "datasets" / "manifest-verdicts.jsonl"


def test_every_resource_is_served_by_the_releases_of_the_facts() -> None:
    """First and last release, and whether a default server has it."""
    facts = read("served-by-release.json")["resources"]
    ours = {
        f"{span.api_version}/{span.plural}": (span.first, span.last, "" if span.default == "on" else span.default)
        for span in lifecycle.spans()
    }
    theirs = {}
    for name, row in facts.items():
        first, _, last = row["releases"].partition("..")
        theirs[name] = (first, last or first, row.get("offByDefault", ""))
    assert ours == theirs


def test_dates_are_those_of_the_facts() -> None:
    """Released, end of life and last patch of every release."""
    for name, row in read("served-by-release.json")["releaseDates"].items():
        found = release(name)
        assert (f"{found.released}", f"{found.end_of_life}", found.last_patch) == (
            row["released"],
            row["endOfLife"],
            row["lastPatch"],
        )


TABLE_ERRORS: Final[Mapping[str, str]] = {
    r"kubent events.k8s.io/v1beta1 Event ok": "missing from its rules",
    r"kubent \S+/v1alpha1 \w+ ok": "its rules have no alphas",
    r"kubepug \S+/v1alpha1 \w+ ok": "alphas without lifecycle functions",
    r"kubepug (apiextensions|apiregistration).k8s.io/v1beta1 \w+ ok": "defined outside the sources it reads",
    r"kubepug autoscaling/v2beta[12] \w+ ok": "deleted from the sources it reads",
    r"kubepug (extensions|policy)/v1beta1 PodSecurityPolicy ok": "deleted from the sources it reads",
    r"kubepug flowcontrol.apiserver.k8s.io/\w+ \w+ ok": "its filter leaves the group out",
    r"pluto authorization.k8s.io/v1beta1 \w+ ok": "missing from its table",
    r"pluto node.k8s.io/v1alpha1 RuntimeClass ok": "missing from its table",
    r"pluto (rbac.authorization|scheduling).k8s.io/v1alpha1 \w+ removed": "says 1.22; served until 1.22, gone in 1.23",
}
"""Where published tables are wrong: tool, element and their verdict, with the reason."""


@needs_shared
def test_published_tables_agree_or_are_known_to_be_wrong() -> None:
    """Tool by tool, for every version and kind in the recorded manifests and every target."""
    surprises, explained = set(), set()
    for line in VERDICTS.read_bytes().splitlines():
        record: dict[str, Any] = orjson.loads(line)
        life = lifecycle.lifecycle_of(record["apiVersion"], record["kind"])
        for tool in ("pluto", "kubent", "kubepug"):
            for target, verdict in record[tool].items():
                ours = bool(life and life.removed and minor_of(life.removed) <= minor_of(target))
                if ours == (verdict == "removed"):
                    continue
                text = f"{tool} {record['apiVersion']} {record['kind']} {verdict}"
                known = next((pattern for pattern in TABLE_ERRORS if re.fullmatch(pattern, text)), None)
                explained.add(known)
                if known is None:
                    surprises.add(f"{text} at {target}")
    assert surprises == set()
    assert explained == set(TABLE_ERRORS)


@pytest.mark.parametrize("name", RELEASES)
def test_every_kind_of_a_release_has_a_schema(name: str) -> None:
    """Of what is served, and of what is stored for it."""
    catalogue = Catalogue.for_release(name, everything=True)
    for resource in catalogue.resources():
        assert catalogue.schema(resource.gvk).fields or resource.kind in ("Scale",)
        if resource.stored:
            assert catalogue.schema(resource.storage_gvk).fields


def test_the_base_release_is_served_as_its_own_tables_say() -> None:
    """The spans give for 1.30 what was observed on a server of 1.30."""
    observed = Catalogue.for_release(BASE, everything=True)
    derived = {resource.gvr: resource for resource in lifecycle.resources(BASE)}
    assert {resource.gvr: resource for resource in observed.resources()} == derived
    assert [(group, tuple(versions)) for group, versions in lifecycle.order(BASE)] == [
        (group.name, group.versions) for group in observed.groups()
    ]


def test_fields_come_and_go_with_releases() -> None:
    """A field is there from its release on, and no longer after its last."""

    def has(name: str, field: str) -> bool:
        return field in table_of(name)["definitions"]["io.k8s.api.core.v1.ServiceSpec"]["fields"]

    assert (has("1.19", "ipFamily"), has("1.20", "ipFamily")) == (True, False)
    assert (has("1.19", "clusterIPs"), has("1.20", "clusterIPs")) == (False, True)


def test_warnings_name_the_announced_end() -> None:
    """From the release of the deprecation on, but not before servers warned at all."""
    ingress = lifecycle.lifecycle_of("extensions/v1beta1", "Ingress")
    assert ingress is not None
    assert [bool(ingress.warning(name)) for name in ("1.18", "1.19", "1.21")] == [False, True, True]
    assert ingress.warning("1.21").endswith("unavailable in v1.22+; use networking.k8s.io/v1 Ingress")
    candidate = lifecycle.lifecycle_of("coordination.k8s.io/v1alpha1", "LeaseCandidate")
    assert candidate is not None
    assert (candidate.removed, candidate.announced) == ("1.32", "1.37")


@pytest.mark.parametrize(("text", "found"), [("1.21", "1.21"), ("v1.30.14", "1.30"), ("1.29+build", "1.29")])
def test_releases_are_recognised_in_any_form(text: str, found: str) -> None:
    """With a v, with a patch, with a build."""
    assert release_name(text) == found


@pytest.mark.parametrize("text", ["2.0", "latest", "1.15", "1.99"])
def test_other_releases_are_refused(text: str) -> None:
    """Unknown ones and what is no release."""
    with pytest.raises(SimkitError):
        release_name(text)


@pytest.mark.parametrize("given", [1.30, 30, None])
def test_a_release_is_written_as_text(given: Any) -> None:
    """As a number, 1.30 would be 1.3: it is refused with the form that is right."""
    with pytest.raises(SimkitError, match=r'write it as text: "1\.30"'):
        Catalogue.for_release(given)
