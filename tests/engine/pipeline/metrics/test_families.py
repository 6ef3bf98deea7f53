"""The metric families beside those of kube-apiserver 1.32 to 1.36, read from ``/metrics`` after some traffic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.metrics.families import FAMILIES, SECONDS
from simkit.meta.message import Request
from simkit.schema.releases import minor_of

RECORDED: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("families.json").read_text())
"""By name: type, level, labels and bounds at some releases."""


def shape(name: str, release: str) -> Mapping[str, Any] | None:
    """A family as kube-apiserver has it at a release; None if it was not seen there."""
    return next((each for each in RECORDED.get(name, ()) if release in each["releases"]), None)


@pytest.mark.parametrize("release", ["1.32", "1.34", "1.36"])
def test_families_have_the_types_levels_labels_and_bounds_of_kube_apiserver(release: str) -> None:
    """Each family that both have is of one shape, whether it has values or not."""
    cluster = Cluster(options=Options(release=release, seed=1, max_requests_inflight=400))
    cluster.perform(Request.of("GET", "/api/v1/namespaces/default/configmaps"))
    page = cluster.perform(Request.of("GET", "/metrics")).body.decode()
    exposed = {family.name: family for family in text_string_to_metric_families(page)}
    for name, row in FAMILIES.items():
        wanted, family = shape(name, release), exposed.get(name.removesuffix("_total"))
        if wanted is None or family is None:
            continue
        assert (name, family.type, family.documentation.split()[0]) == (name, wanted["type"], f"[{wanted['level']}]")
        assert (name, {*row.labels}) == (name, {*wanted["labels"]})
        if family.type == "histogram":
            assert tuple(wanted["bounds"]) == SECONDS
    assert "apiserver_request_duration_seconds" in exposed
    assert ("apiserver_resource_objects" in exposed) == (minor_of(release) >= 34)
