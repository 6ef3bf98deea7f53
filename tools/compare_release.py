"""Compares the tables of a release with what was released: a client made from its paths, and the list of its gates.

    python -m tools.compare_release kubernetes-38.0.0-py2.py3-none-any.whl [--gates versioned_feature_list.yaml]

The client is the package ``kubernetes`` of PyPI, of which edition 38 is made from 1.38. The list of gates is
``test/compatibility_lifecycle/reference/versioned_feature_list.yaml`` of kubernetes/kubernetes, of the release or of a
later one. Each difference is a line; 1 if there are any. A release that the tables do not have yet is compared with the
newest one, which shows what came and went.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from simkit.schema import lifecycle
from simkit.schema.feature_gates import Gate, known
from simkit.schema.releases import RELEASES, minor_of

_EDITION: Final = re.compile(r"kubernetes-(\d+)\.")
_PATH: Final = re.compile(
    r"'/(?:api|apis/([^/']+))/(v\d[^/']*)/(?:namespaces/\{namespace\}/)?([a-z]+)(?:/\{name\}(?:/([a-z]+))?)?[/']"
)


def served_by_client(wheel: Path) -> set[str]:
    """The resources and subresources of a client, as ``apps/v1 deployments/scale``."""
    with zipfile.ZipFile(wheel) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if "/client/api/" in name]
    found = {match.groups() for text in texts for match in _PATH.finditer(text)}
    return {
        f"{f'{group}/' if group else ''}{version} {resource}{f'/{part}' if part else ''}"
        for group, version, resource, part in found
    }


def served_by_tables(release: str) -> set[str]:
    """The resources and subresources of a release, those that are off by default included."""
    return {
        name
        for each in lifecycle.resources(release)
        for name in (
            f"{each.api_version} {each.resource}",
            *(f"{each.api_version} {each.resource}/{part}" for part in each.subresources),
        )
    }


def resource_differences(wheel: Path, release: str) -> Iterator[str]:
    """A line for each resource that only one side has."""
    released, here = served_by_client(wheel), served_by_tables(release)
    yield from (f"{name}: released, not in the table" for name in sorted(released - here))
    yield from (f"{name}: in the table, not released" for name in sorted(here - released))


def gates_of(listed: Sequence[Mapping[str, Any]], release: str) -> dict[str, Gate]:
    """The gates of a list in the state that they have at a release.

    A state since 1.0 stands for releases that had no such gate.
    """
    found: dict[str, Gate] = {}
    for entry in listed:
        for spec in entry["versionedSpecs"]:
            if 0 < minor_of(spec["version"]) <= minor_of(release):
                stage = spec["preRelease"].upper()
                found[entry["name"]] = Gate(entry["name"], stage, spec["default"], spec["lockToDefault"])
    return found


def gate_differences(listed: Sequence[Mapping[str, Any]], release: str) -> Iterator[str]:
    """A line for each gate of a list that the table does not have in this state.

    A gate of the table that is not listed may be gone since.
    """
    here = known(release)
    for name, gate in sorted(gates_of(listed, release).items()):
        if here.get(name) != gate:
            told = f"{_told(here[name])} in the table" if name in here else "not in the table"
            yield f"gate {name}: released as {_told(gate)}, {told}"


def _told(gate: Gate) -> str:
    return f"{gate.stage} {'on' if gate.default else 'off'}{' locked' if gate.locked else ''}"


def main() -> int:
    """Print what differs; 1 if something does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", type=Path, help="the wheel of a released client: pip download --no-deps kubernetes")
    parser.add_argument("--gates", type=Path, metavar="FILE", help="the list of feature gates, as kubernetes keeps it")
    args = parser.parse_args()
    edition = _EDITION.match(args.client.name)
    if edition is None:
        parser.error(f"{args.client.name} is no wheel of the package kubernetes")
    release = f"1.{edition[1]}"
    table = release if release in RELEASES else RELEASES[-1]
    if table != release:
        print(f"{release} is new: compared with {table}")
    lines = list(resource_differences(args.client, table))
    if args.gates is not None:
        lines += gate_differences(yaml.safe_load(args.gates.read_text(encoding="utf-8")), table)
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main())
