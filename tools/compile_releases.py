"""Makes the tables under ``datasets/api/releases`` from pinned packages and the fact tables.

    python -m tools.compile_releases [--facts tools/facts] [--packages build/packages] [--out datasets]

Packages are downloaded into the folder if they are not there. The same packages and facts give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from tools.facts import FOLDER, read
from tools.facts import text as fact_text
from tools.releases import gates, packages, rows, served

HERE = Path(__file__).resolve().parent

BASE = 30
"""The release whose definitions are complete; all others are told as differences, each to its neighbour."""


def load(path: Path) -> Any:
    return orjson.loads(path.read_bytes())


def text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def table(entries: Mapping[str, Any]) -> bytes:
    """A JSON object with one entry a line, as given."""
    return b"{\n" + b",\n".join(text(key) + b":" + text(value) for key, value in entries.items()) + b"\n}\n"


def nested(entries: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Several tables in one file, each with one entry a line."""
    return b"{\n" + b",\n".join(text(name) + b":" + table(part).rstrip() for name, part in entries.items()) + b"\n}\n"


def definitions_of(release: str, source: packages.Definitions, base: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of a release, told by the schemas and by what 1.30 knows of the same definitions."""
    found = {}
    for name, schema in source.items():
        known, exact = base.get(name), True
        if known is None:
            twin = rows.namesake(name, base)
            known, exact = (base[twin] if twin else None), False
        row = rows.enriched(rows.row_of(schema), known, exact=exact)
        found[name] = rows.marked(name, rows.with_zeros_of(name, row, served.number(release)), served.number(release))
    return found


def schema_tables(sources: Mapping[str, packages.Definitions], base: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """One difference a release: to the release above it below the base, to the one below it above."""
    made = {
        release: {"definitions": definitions_of(release, source, base["definitions"]), "kinds": rows.kinds_of(source)}
        for release, source in sources.items()
        if served.FIRST <= served.number(release) <= served.LAST and served.number(release) != BASE
    }
    made[f"1.{BASE}"] = dict(base)
    for release in sorted(made, key=served.number):
        minor = served.number(release)
        if minor == BASE:
            continue
        neighbour = made[f"1.{minor + (1 if minor < BASE else -1)}"]
        change = {
            "definitions": rows.difference(neighbour["definitions"], made[release]["definitions"]),
            "kinds": {
                **{kind: None for kind in neighbour["kinds"] if kind not in made[release]["kinds"]},
                **{k: name for k, name in made[release]["kinds"].items() if neighbour["kinds"].get(k) != name},
            },
        }
        yield f"schemas/{release}.json.gz", gzip.compress(text(change), 9, mtime=0)


def first_seen(facts: Path) -> dict[str, str]:
    """The first release whose schemas hold a kind; those of 1.8 may be older."""
    listed = csv.DictReader(fact_text("served-versions.csv", facts).decode().splitlines())
    return {f"{served.api_version(row['group'], row['version'])} {row['kind']}": row["schema_first"] for row in listed}


def compiled(facts: Path, folder: Path, datasets: Path) -> Iterator[tuple[str, bytes]]:
    """Every table with its path under ``datasets/api/releases``."""
    overrides = load(HERE / "releases" / "overrides.json")
    catalogue = load(datasets / "api" / f"1.{BASE}" / "catalogue.json")
    base = load(datasets / "api" / f"1.{BASE}" / "schemas.json")
    known = read("served-by-release.json", facts)
    resources = served.resource_rows(served.observed(packages.routes(folder)), catalogue, overrides)
    check_served(resources, known["resources"])
    order = [{key: entry[key] for key in ("group", "until", "order")} for entry in overrides["versionOrder"]]
    head = {"groups": served.groups(resources, catalogue, overrides), "versionOrder": order}
    yield "served.json", nested({"order": head, "resources": resources})
    life = served.lifecycle(resources, read("lifecycle-tags.json", facts), first_seen(facts), overrides)
    yield "lifecycle.json", table(dict(sorted(life.items())))
    yield "gates.json", table(gate_lives(read(f"flags-1.{BASE}.json", facts)))
    yield "releases.json", table(dict(sorted(known["releaseDates"].items(), key=lambda each: served.number(each[0]))))
    yield from schema_tables(packages.schemas(folder), base)


def gate_lives(facts: Any) -> dict[str, Any]:
    """The lives of feature gates, which must agree with those observed at 1.30 and those in the registry of 1.20."""
    lives = gates.read((HERE / "releases" / "gates.txt").read_text(encoding="utf-8"))
    seen = {**facts["featureGatesShownByHelp"], **facts["featureGatesGAOrDeprecatedNotShown"]}
    observed = {name: [row["stage"], row["default"], row.get("locked", False)] for name, row in seen.items()}
    gates.check(lives, BASE, observed)
    gates.check(lives, 20, load(HERE / "releases" / "gates-1.20.json"))
    return lives


def check_served(resources: Mapping[str, Any], known: dict[str, Any]) -> None:
    """Routes must agree with the facts that others took from the same and other packages."""
    for name, row in resources.items():
        facts = known.pop(name.replace(" ", "/"))
        first, _, last = facts["releases"].partition("..")
        spans = [served.number(first), served.number(last or first)]
        assert row["releases"] == spans, f"{name}: {row['releases']} here, {facts['releases']} in the facts"
        assert row.get("off", "") == facts.get("offByDefault", ""), f"{name}: default differs from the facts"
    assert not known, f"the facts have more: {sorted(known)}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, default=FOLDER, help="folder of the fact tables")
    parser.add_argument("--packages", type=Path, default=HERE.parent / "build" / "packages", help="downloaded packages")
    parser.add_argument("--out", type=Path, default=HERE.parent / "datasets", help="folder to write to")
    chosen = parser.parse_args(arguments)
    packages.fetch(chosen.packages)
    total = 0
    for name, content in compiled(chosen.facts, chosen.packages, HERE.parent / "datasets"):
        target = chosen.out / "api" / "releases" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        total += len(content)
        print(f"{len(content):>8} {name}")
    print(f"{total:>8} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
