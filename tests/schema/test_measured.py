"""The resources of a server, against tables that were measured on kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.cluster.plugins import PLUGINS
from simkit.meta.message import Request
from simkit.schema.admissionplugins import on_by_default, plugins_of
from simkit.schema.feature_gates import parse_feature_gates
from tools.facts import read

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture(scope="module")
def usual() -> Cluster:
    """A server without any flags."""
    return Cluster(seed=1)


@pytest.fixture(scope="module")
def everything() -> Cluster:
    """A server in which all versions and features are on."""
    gates = {"AllAlpha": True, "AllBeta": True}
    return Cluster(options=Options(seed=1, runtime_config={"api/all": True}, feature_gates=gates))


def got(cluster: Cluster, path: str, accept: str = "application/json") -> tuple[int, Any]:
    answer = cluster.perform(Request.of("GET", path, headers={"accept": accept}))
    return answer.status, orjson.loads(answer.body)


def path_of(group_version: str) -> str:
    return f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"


def offered(cluster: Cluster, group_version: str) -> dict[str, Any]:
    """A group version's resources as the table writes them: subresources inside, fields that are empty left out."""
    found: dict[str, Any] = {}
    for row in got(cluster, path_of(group_version))[1]["resources"]:
        name, _, part = row["name"].partition("/")
        told = {key: row[key] for key in ("kind", "namespaced", "verbs", "categories", "shortNames") if row.get(key)}
        told |= {"namespaced": row["namespaced"], "verbs": sorted(row["verbs"])}
        own = found.setdefault(name, {})
        if part:
            own.setdefault("subresources", {})[part] = told | {
                key: row[key] for key in ("group", "version") if row.get(key)
            }
        else:
            own |= told | {"singular": row["singularName"]}
    return found


def measured(table: dict[str, Any]) -> dict[str, Any]:
    """The same of the measured table, whose subresources say where their kind is from in one word."""
    found: dict[str, Any] = {}
    for name, row in table.items():
        parts = {}
        for part, each in (row.get("subresources") or {}).items():
            group, _, version = (each.get("responseGV") or "").rpartition("/")
            place = {key: value for key, value in (("group", group), ("version", version)) if value}
            parts[part] = {key: value for key, value in each.items() if key != "responseGV"} | place
        found[name] = row | ({"subresources": parts} if parts else {})
    return found


@pytest.mark.parametrize(("part", "server"), [("enabledByDefault", "usual"), ("offByDefault", "everything")])
def test_discovery_lists_what_was_measured(part: str, server: str, request: pytest.FixtureRequest) -> None:
    cluster = request.getfixturevalue(server)
    tables = {version: rows for version, rows in read("discovery-1.30.json")[part].items() if isinstance(rows, dict)}
    assert {version: offered(cluster, version) for version in tables} == {
        version: measured(rows) for version, rows in tables.items()
    }


@pytest.mark.parametrize(("part", "server"), [("groupOrderDefault", "usual"), ("groupOrderAllEnabled", "everything")])
def test_groups_stand_in_the_measured_order(part: str, server: str, request: pytest.FixtureRequest) -> None:
    groups = got(request.getfixturevalue(server), "/apis")[1]["groups"]
    ours = [
        [each["name"], [one["version"] for one in each["versions"]], each["preferredVersion"]["version"]]
        for each in groups
    ]
    assert ours == [row for row in read("discovery-1.30.json")[part] if row[0]]


def test_resources_stand_in_the_measured_order(usual: Cluster) -> None:
    orders = read("discovery-1.30.json")["legacyListOrder"]
    assert orders == {
        version: [row["name"] for row in got(usual, path_of(version))[1]["resources"]] for version in orders
    }


def test_the_root_lists_the_measured_paths(usual: Cluster) -> None:
    assert set(read("discovery-1.30.json")["nonResourcePaths"]) <= set(got(usual, "/")[1]["paths"])


def listed(table: dict[str, Any], cluster: Cluster) -> Iterator[tuple[str, str, Any]]:
    """Resources that can be listed: name, path and row."""
    for name, row in table.items():
        version, _, resource = name.rpartition("/")
        if "list" in offered(cluster, version).get(resource, {}).get("verbs", ()):
            yield name, f"{path_of(version)}/{resource}", row


@pytest.mark.parametrize(("part", "server"), [("enabledByDefault", "usual"), ("offByDefault", "everything")])
def test_tables_have_the_measured_columns(part: str, server: str, request: pytest.FixtureRequest) -> None:
    cluster = request.getfixturevalue(server)
    rows = list(listed(read("table-columns-1.30.json")[part], cluster))
    ours = {
        name: [[one[key] for key in ("name", "type", "format", "priority")] for one in columns]
        for name, path, _ in rows
        for columns in [got(cluster, path, TABLE)[1]["columnDefinitions"]]
    }
    assert ours
    assert ours == {name: row["columns"] for name, _, row in rows}


def test_field_selectors_take_the_measured_names_and_no_others(everything: Cluster) -> None:
    table = read("field-selectors-1.30.json")
    special = {name: row for name, row in table["resources"].items() if name != "customresources"}
    for name, path, row in listed(special, everything):
        for label in row["labels"]:
            assert got(everything, f"{path}?fieldSelector={quote(label)}%3Dx")[0] == 200, (name, label)
    usual = {
        f"{version}/{resource}": {"labels": table["default"]["everyOtherResource"]}
        for part in ("enabledByDefault", "offByDefault")
        for version, rows in read("discovery-1.30.json")[part].items()
        for resource in rows
        if isinstance(rows, dict) and f"{version}/{resource}" not in special
    }
    refusal = table["default"]["error"].replace("%s", "spec.nothing")
    for name, path, _ in listed(usual, everything):
        status, body = got(everything, f"{path}?fieldSelector=spec.nothing%3Dx")
        assert (status, refusal in body["message"]) == (400, True), name


def test_admission_plugins_are_asked_in_the_measured_order() -> None:
    table = read("admission-1.30.json")
    assert on_by_default("1.30", parse_feature_gates({}).values) == table["defaultEnabled"]
    ours = [name for name in PLUGINS.ours if name in plugins_of("1.30")]
    assert ours == [name for name in table["orderAll"] if name in PLUGINS.ours]


def test_component_statuses_are_found_out(usual: Cluster) -> None:
    """They are not stored; clients are told that they are deprecated."""
    answer = usual.perform(Request.of("GET", "/api/v1/componentstatuses"))
    assert [each["metadata"]["name"] for each in answer.object["items"]] == [
        "controller-manager",
        "etcd-0",
        "scheduler",
    ]
    assert ("Warning", '299 - "v1 ComponentStatus is deprecated in v1.19+"') in answer.headers
    status, one = got(usual, "/api/v1/componentstatuses/etcd-0", TABLE)
    assert (status, one["rows"][0]["cells"]) == (200, ["etcd-0", "Healthy", "ok", ""])
    status, refused = got(usual, "/api/v1/componentstatuses/none")
    assert (status, refused["message"]) == (500, "Component not found: none")
    chosen = got(usual, "/api/v1/componentstatuses?fieldSelector=metadata.name%3Dscheduler", TABLE)[1]["rows"]
    assert [row["cells"][:2] for row in chosen] == [["scheduler", "Unhealthy"]]


def test_a_cluster_with_simulated_nodes_has_a_scheduler() -> None:
    made = Cluster(seed=1)
    made.add_nodes(1)
    found = got(made, "/api/v1/componentstatuses", TABLE)[1]["rows"]
    assert {row["cells"][0]: row["cells"][1] for row in found}["scheduler"] == "Healthy"
