"""Makes the tables under ``datasets/api`` and ``datasets/rbac`` from the fact tables of a release.

    python -m tools.compile_catalogue [--facts tools/facts] [--out datasets] [--release 1.30]

The same facts give the same bytes. Tables are JSON with one entry a line, so that a change can be read as a diff.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tools.facts import FOLDER, read

Facts = Mapping[str, Any]
Versions = Mapping[tuple[str, str], Sequence[str]]
"""Versions that serve a resource, by group and plural, in the order of the group."""
HERE = Path(__file__).resolve().parent
STORED_VERBS = {"create", "get", "list"}
RBAC_VERSION = "v1"

TEXT_FORMS: Mapping[str, Mapping[str, Any]] = {
    "pkg.apis.meta.v1.Time": {"format": "date-time"},
    "pkg.apis.meta.v1.MicroTime": {"format": "micro-time"},
    "pkg.apis.meta.v1.Duration": {"format": "duration"},
    "pkg.api.resource.Quantity": {"format": "quantity"},
    "pkg.util.intstr.IntOrString": {"intOrString": True, "format": "int-or-string"},
    "pkg.runtime.RawExtension": {"preserveUnknown": True, "format": "raw"},
    "pkg.apis.meta.v1.FieldsV1": {"preserveUnknown": True, "format": "raw"},
    "pkg.apis.apiextensions.v1.JSON": {"preserveUnknown": True, "format": "json"},
    "pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": {"preserveUnknown": True, "format": "schema-or-list"},
    "pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": {"preserveUnknown": True, "format": "schema-or-bool"},
    "pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": {"preserveUnknown": True, "format": "schema-or-strings"},
}
"""How types that read and write themselves look, by the end of their names."""


def load(path: Path) -> Any:
    return orjson.loads(path.read_bytes())


def line(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def table(entries: Mapping[str, Any]) -> str:
    """A JSON object with one entry a line, sorted by key; a nested table gives its own lines."""
    rows = (f"{line(key)}:{text if isinstance(text, Lines) else line(text)}" for key, text in sorted(entries.items()))
    return "{\n" + ",\n".join(rows) + "\n}\n"


class Lines(str):
    """Text that is JSON already."""


def lines(entries: Mapping[str, Any]) -> Lines:
    return Lines(table(entries).rstrip("\n"))


# Resources


def resource_row(facts: Facts, *, stored: Sequence[str] | None, enabled: bool) -> dict[str, Any]:
    """One resource: what discovery says of it, and where it is stored."""
    row: dict[str, Any] = {"kind": facts["kind"], "singular": facts["singular"], "verbs": facts["verbs"]}
    for key in ("shortNames", "categories"):
        if facts.get(key):
            row[key] = facts[key]
    if facts["namespaced"]:
        row["namespaced"] = True
    if facts.get("subresources"):
        row["subresources"] = {name: subresource_row(sub) for name, sub in facts["subresources"].items()}
    if stored:
        row["stored"] = list(stored)
    if not enabled:
        row["off"] = True
    return row


def subresource_row(facts: Facts) -> list[Any]:
    """Kind, group version where it differs from the resource's, verbs."""
    return [facts["kind"], facts.get("responseGV", ""), facts["verbs"]]


def split(group_version: str) -> tuple[str, str]:
    group, _, version = group_version.rpartition("/")
    return group, version


def stored_as(group: str, plural: str, facts: Facts, versions: Versions, shapes: Facts) -> Sequence[str] | None:
    """Group and version of the stored form.

    A resource is stored in the first version, in the group's order, that serves it. In 1.30 this gives
    autoscaling/v2 (the recorded storage hash says so) and the v1 of flow control, which is the one that keeps an
    explicit zero of shares. Policies are stored as v1 (their v1beta1 has the same shape).
    """
    if not set(facts["verbs"]) >= STORED_VERBS or plural in shapes["notStored"]:
        return None
    moved = shapes["storedAs"].get(f"{group}/{plural}")
    return moved or [group, versions[group, plural][0]]


def resources(discovery: Facts, shapes: Facts) -> dict[str, Any]:
    """All resources by group version and plural, the ones that are off by default flagged."""
    served = {**discovery["enabledByDefault"], **discovery["offByDefault"]}
    order = {group: versions for group, versions, _ in discovery["groupOrderAllEnabled"]}
    versions: dict[tuple[str, str], list[str]] = {}
    for group, names in order.items():
        for version in names:
            for plural in served.get(f"{group}/{version}" if group else version, {}):
                versions.setdefault((group, plural), []).append(version)
    return {
        f"{group_version} {plural}": resource_row(
            facts,
            stored=stored_as(split(group_version)[0], plural, facts, versions, shapes),
            enabled=group_version in discovery["enabledByDefault"],
        )
        for group_version, plurals in served.items()
        for plural, facts in plurals.items()
    }


def catalogue(discovery: Facts, shapes: Facts, release: str) -> str:
    rows = resources(discovery, shapes)
    for group_version, order in discovery["legacyListOrder"].items():
        assert order == sorted(order), f"{group_version} lists its resources in an order of its own"
    for group, versions, preferred in discovery["groupOrderAllEnabled"]:
        assert versions[0] == preferred, f"{group} prefers a version that is not its first"
    return table(
        {
            "release": release,
            "groups": [[group, versions] for group, versions, _ in discovery["groupOrderAllEnabled"]],
            "resources": lines(rows),
            "paths": discovery["nonResourcePaths"],
        }
    )


# Schemas


def message_of(name: str, packages: Facts) -> dict[str, str]:
    """The protobuf message of a definition, the fields of inlined messages among its own: JSON name to row."""
    package, _, kind = name.removeprefix("io.").replace("-", "_").rpartition(".")
    prefix = package if package.startswith("k8s.io") else package.replace("k8s.", "k8s.io.", 1)
    message = packages.get(prefix, {}).get(kind)
    return inlined(message, prefix, packages) if message else {}


def inlined(message: Mapping[str, str], package: str, packages: Facts) -> dict[str, str]:
    found: dict[str, str] = {}
    for field, row in message.items():
        words = row.split()
        if "inline" in words:
            home, _, kind = words[1].rpartition(".")
            home = home or package
            found |= inlined(packages[home][kind], home, packages)
        else:
            renamed = next((word[5:] for word in words if word.startswith("json=")), field)
            found[renamed] = row
    return found


def field_row(row: Facts, proto: str, *, required: bool, written: bool, left_out: bool) -> dict[str, Any]:
    """A field with ``go``: what becomes of it on the way through kube-apiserver's types.

    pointer: zero values are kept, null is absent; always: written even when empty; nil: written as null when absent.
    Without ``go`` a zero value is left out.
    """
    out = {key: value for key, value in row.items() if key != "oneOf"}
    words = proto.split()
    pointer = "ptr" in words
    container = row.get("type") in ("array", "object") or row.get("format") == "byte"
    structure = "ref" in row
    if pointer or (not proto and structure and "default" not in row):
        out["go"] = "pointer nil" if written or (required and structure) else "pointer"
    elif written or (container and required):
        out["go"] = "nil"
    elif structure or (not left_out and "default" in row and row["default"] in ("", 0, False)):
        out["go"] = "always"
    return out


def typed(row: Facts, name: str | None) -> Facts:
    """The row with the name of its string type: that of the elements of a list or map, unless it begins with ``=``."""
    if name is None:
        return row
    if name.startswith("="):
        return {**row, "goType": name[1:]}
    part = next((each for each in ("items", "values") if each in row), None)
    return {**row, part: {**row[part], "goType": name}} if part else {**row, "goType": name}


def definition_row(name: str, row: Facts, packages: Facts, shapes: Facts) -> dict[str, Any]:
    special = next((form for end, form in TEXT_FORMS.items() if name.endswith(end)), None)
    out: dict[str, Any] = {key: value for key, value in row.items() if key not in ("gvk", "oneOf")}
    if special is not None:
        out |= special
        return out
    message = message_of(name, packages)
    written = shapes["writtenWhenNil"].get(name, ())
    left_out = shapes["leftOutWhenEmpty"].get(name, ())
    types = shapes["types"].get(name, {})
    required = row.get("required", ())
    if "fields" in row:
        out["fields"] = {
            field: field_row(
                typed(child, types.get(field)),
                message.get(field, ""),
                required=field in required,
                written=field in written,
                left_out=field in left_out,
            )
            for field, child in row["fields"].items()
        }
    return out


def schemas(facts: Facts, packages: Facts, shapes: Facts) -> str:
    definitions = {**facts["definitions"], **facts["definitionsOffByDefault"]}
    named = {gvk: name for name, row in definitions.items() for gvk in row.get("gvk", ())}
    # Kinds of every group version are under an asterisk.
    kinds = {f"*/{gvk.rpartition('/')[2]}" if gvk.startswith("*") else gvk: name for gvk, name in named.items()}
    rows = {name: definition_row(name, row, packages, shapes) for name, row in definitions.items()}
    return table({"kinds": lines(kinds), "definitions": lines(rows)})


# Everything else


def columns(facts: Facts) -> str:
    """Columns and cell sources of Tables by group version and plural."""
    entries = {**facts["enabledByDefault"], **facts["offByDefault"]}
    rows = {key: {"columns": row["columns"], "cells": row["cells"]} for key, row in entries.items()}
    return table({"resources": lines(rows), "rules": facts["rules"]})


def field_labels(facts: Facts) -> str:
    """Field selector labels, aliases and error wording by group version and plural."""
    kept = ("labels", "aliases", "error", "values")
    rows = {key: {word: row[word] for word in kept if word in row} for key, row in facts["resources"].items()}
    custom = rows.pop("customresources")
    rows.pop("apps/v1/replicasets", None)  # kube-apiserver refuses other labels there as for every other resource
    slices = rows.get("resource.k8s.io/v1alpha2/resourceslices", {})
    if "error" in slices:  # the facts have a place for the kind, where kube-apiserver names it
        kind = "resource.k8s.io/v1alpha2, Kind=ResourceSlice"
        slices["error"] = slices["error"].replace("%s", kind, 1)
    default = facts["default"]
    return table(
        {
            "resources": lines(rows),
            "customResources": custom,
            "default": {"labels": default["everyOtherResource"], "error": default["error"].replace('"%s"', "%q")},
            "listed": {"error": facts["errorOfResourcesListed"]},
        }
    )


def defaults(facts: Facts) -> str:
    return table({key: value for key, value in facts.items() if key not in ("legend", "openapiZeroDefaults")})


def protobuf(facts: Facts) -> str:
    return table({package: messages for package, messages in facts["packages"].items() if messages})


def rbac_objects(facts: Facts, group: str) -> str:
    """The default roles and bindings as whole objects, in the order in which the server makes them."""
    common = facts["common"]
    sets = (
        ("clusterRoles", "ClusterRole"),
        ("clusterRoleBindings", "ClusterRoleBinding"),
        ("roles", "Role"),
        ("roleBindings", "RoleBinding"),
    )
    objects = [rbac_object(kind, key, row, common, group) for name, kind in sets for key, row in facts[name].items()]
    return "[\n" + ",\n".join(orjson.dumps(obj).decode() for obj in objects) + "\n]\n"


def rbac_object(kind: str, key: str, row: Facts, common: Facts, group: str) -> dict[str, Any]:
    namespace, _, name = key.rpartition("/")
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for part in ("labels", "annotations"):
        metadata[part] = dict(sorted({**common[part], **row.get(part, {})}.items()))
    head = {"kind": kind, "apiVersion": f"{group}/{RBAC_VERSION}", "metadata": metadata}
    # A binding without subjects has no such field; a role without rules has a null one.
    parts = {part: value for part, value in row.items() if value or part == "rules"}
    return head | {part: value for part, value in parts.items() if part not in ("labels", "annotations")}


def compiled(facts: Path, release: str) -> Iterable[tuple[str, str]]:
    """Every table with its path under ``datasets``."""
    discovery = read(f"discovery-{release}.json", facts)
    proto = read(f"protobuf-{release}.json", facts)
    shapes = load(HERE / f"go-shapes-{release}.json")
    rbac = next(gv for gv in discovery["enabledByDefault"] if gv.startswith("rbac."))
    home = f"api/{release}"
    yield f"{home}/catalogue.json", catalogue(discovery, shapes, release)
    yield f"{home}/schemas.json", schemas(read(f"schema-{release}.json", facts), proto["packages"], shapes)
    yield f"{home}/columns.json", columns(read(f"table-columns-{release}.json", facts))
    yield f"{home}/fields.json", field_labels(read(f"field-selectors-{release}.json", facts))
    yield f"{home}/defaults.json", defaults(read(f"defaults-{release}.json", facts))
    yield f"{home}/protobuf.json", protobuf(proto)
    objects = rbac_objects(read(f"rbac-defaults-{release}.json", facts), split(rbac)[0])
    yield f"rbac/default-objects-{release}.json", objects


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, default=FOLDER, help="folder of the fact tables")
    parser.add_argument("--out", type=Path, default=HERE.parent / "datasets", help="folder to write to")
    parser.add_argument("--release", default="1.30")
    chosen = parser.parse_args(arguments)
    for name, text in compiled(chosen.facts, chosen.release):
        target = chosen.out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        print(f"{len(text):>8} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
