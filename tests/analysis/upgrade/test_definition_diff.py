"""Changes of custom resource definitions, judged by rules and by stored objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import simkit
from simkit.analysis import definition_changes
from simkit.analysis.upgrade.schema_changes import schema_changes
from simkit.cli import main
from simkit.meta.errors import SimkitError

INTEGER: dict[str, Any] = {"type": "integer"}
TEXT: dict[str, Any] = {"type": "string"}


def definition(fields: dict[str, Any], *, required: tuple[str, ...] = (), **version: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": fields, **({"required": list(required)} if required else {})}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "shops", "kind": "Shop", "singular": "shop", "listKind": "ShopList"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema, **version}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions},
    }


@pytest.mark.parametrize(
    ("old", "new", "change", "breaks"),
    [
        ({"a": INTEGER}, {}, "the field is gone", True),
        ({}, {"a": INTEGER}, "the field is new", False),
        ({"a": INTEGER}, {"a": TEXT}, "the type changes from integer to string", True),
        ({"a": TEXT}, {"a": {**TEXT, "maxLength": 3}}, "maxLength 3 is new", True),
        ({"a": {**TEXT, "maxLength": 3}}, {"a": {**TEXT, "maxLength": 5}}, "", False),
        ({"a": {**INTEGER, "minimum": 1}}, {"a": {**INTEGER, "minimum": 2}}, "minimum tightens from 1 to 2", True),
        ({"a": {**TEXT, "enum": ["x", "y"]}}, {"a": {**TEXT, "enum": ["x"]}}, "y is not allowed any more", True),
        ({"a": {**TEXT, "enum": ["x"]}}, {"a": {**TEXT, "enum": ["x", "y"]}}, "y is allowed too", False),
        ({"a": {**TEXT, "default": "x"}}, {"a": {**TEXT, "default": "y"}}, "the default changes from x to y", True),
        ({"a": {**TEXT, "nullable": True}}, {"a": TEXT}, "null is not allowed any more", True),
        ({"a": TEXT}, {"a": {**TEXT, "x-kubernetes-validations": [{"rule": "self != ''"}]}}, "the rule self != '' is new", True),
    ],
)  # fmt: skip
def test_fields(old: dict[str, Any], new: dict[str, Any], change: str, breaks: bool) -> None:
    """Each change of a field is told with whether it breaks; what widens is no break."""
    found = definition_changes(definition(old), definition(new)).rows
    assert [(row.change, row.breaks) for row in found] == ([(change, breaks)] if change else [])


def test_required() -> None:
    """A field that becomes required breaks, unless a default fills it in."""
    (row,) = definition_changes(definition({"a": TEXT}), definition({"a": TEXT}, required=("a",))).rows
    assert (row.field, row.breaks) == ("spec.a", True)
    filled = {"type": "object", "properties": {"a": {**TEXT, "default": "x"}}}
    assert not [each for each in schema_changes(filled, {**filled, "required": ["a"]}) if each.breaks]


def test_versions_and_names() -> None:
    """Versions that go, names and subresources that change break clients."""
    old = definition({}, subresources={"status": {}})
    found = definition_changes(old, definition({}, served=False))
    assert {row.change for row in found.rows if row.breaks} == {
        "the version is not served any more",
        "the subresource is gone",
    }
    other = definition({})
    other["spec"]["scope"] = "Cluster"
    assert definition_changes(definition({}), other).rows[0].field == "spec.scope"


def test_versions_that_nothing_converts() -> None:
    """A field that the stored version lacks is lost where nothing converts."""
    new = definition({"a": TEXT})
    beta = {**definition({"a": TEXT, "b": TEXT})["spec"]["versions"][0], "name": "v1beta1", "storage": False}
    new["spec"]["versions"].append(beta)
    rows = [row for row in definition_changes(definition({"a": TEXT}), new).rows if row.breaks]
    assert [(row.version, row.field) for row in rows] == [("v1beta1", "spec.b")]


def test_stored_objects() -> None:
    """Every stored object is tried on a fork with the new definition; the cluster stays as it is."""
    old, new = definition({"size": INTEGER}), definition({"size": {**INTEGER, "maximum": 5}})
    cluster = simkit.Cluster(seed=1)
    cluster.create(old)
    for name, size in (("small", 1), ("big", 9)):
        shop = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": name}, "spec": {"size": size}}
        cluster.create(shop)
    found = definition_changes(old, new, sandbox=cluster)
    (row,) = [row for row in found.rows if row.objects is not None]
    assert (row.objects, row.example) == (1, "default/big")
    assert "less than or equal to 5" in row.change
    assert cluster.get("shops.example.com", "big", "default")["spec"] == {"size": 9}
    assert definition_changes(old, old, sandbox=cluster)


def test_a_definition_that_no_server_has_seen() -> None:
    """Manifests have no status; the change can be made nevertheless, and their objects are tried."""
    old, new = definition({"size": INTEGER}), definition({"size": {**INTEGER, "maximum": 5}})
    shop = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "big", "namespace": "default"}}
    cluster = simkit.load([old, {**shop, "spec": {"size": 9}}])
    found = definition_changes(old, new, sandbox=cluster)
    assert [(row.objects, row.example) for row in found.rows if row.objects is not None] == [(1, "default/big")]
    assert not [row for row in found.rows if row.severity == "critical"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code says whether the change is compatible."""
    for name, fields in (("old", {"a": TEXT}), ("new", {"a": TEXT, "b": TEXT}), ("bad", {})):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(definition(fields)))
    assert main(["crd-diff", str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml")]) == 0
    assert main(["crd-diff", str(tmp_path / "old.yaml"), str(tmp_path / "bad.yaml"), "-o", "json"]) == 1
    assert "the field is gone" in capsys.readouterr().out
    assert main(["crd-diff", str(tmp_path / "old.yaml"), str(tmp_path / "bad.yaml"), "-o", "sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("bad.yaml")
    with pytest.raises(SimkitError, match="new side"):
        definition_changes(definition({}), "apiVersion: v1\nkind: Pod\n")


def test_a_side_that_cannot_be_read_whole_is_no_answer(tmp_path: Path) -> None:
    """A definition in a broken document would count as gone: the place is told instead."""
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(definition({"a": TEXT})) + "---\na: [\n")
    with pytest.raises(SimkitError, match=r"old side cannot be read whole: .*old\.yaml"):
        definition_changes(tmp_path / "old.yaml", definition({"a": TEXT}))
