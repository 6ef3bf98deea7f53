"""The urgent notes of Kubernetes' changelogs that ``datasets/upgrade/notes.yaml`` says nothing about.

    python -m tools.upgrade_notes CHANGELOG-1.37.md [CHANGELOG-1.38.md ...]

A changelog is the one of a release in kubernetes/kubernetes, or the draft of its release notes in
kubernetes/sig-release. Urgent is what stands below "Urgent Upgrade Notes" and what says that action is required. Each
note needs a line with its pull request: a row of ``behaviour.yaml`` that finds what it is about, or why there is none.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from simkit.meta import datasets

TABLE: Final = "upgrade/notes.yaml"
_RELEASE: Final = re.compile(r"1\.\d+")
_PULL: Final = re.compile(r"/pull/(\d+)\)")
_URGENT: Final = re.compile(r"action required", re.IGNORECASE)
_ITEM: Final = re.compile(r"(?m)^ ?[-*] ")


def notes() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The notes that are accounted for, by release: pull, note, and row or because."""
    table: Mapping[str, Sequence[Mapping[str, Any]]] = yaml.safe_load(datasets.path(TABLE).read_text(encoding="utf-8"))
    return table


def urgent(changelog: str) -> Iterator[tuple[int, str]]:
    """Pull request and text of each urgent note of a changelog."""
    for section in re.split(r"(?m)^(?=#{2,3} )", changelog):
        of_urgent = section.lower().startswith(("## urgent", "### (no, really"))
        for item in _ITEM.split(section)[1:]:
            pull = _PULL.search(item)
            if pull is not None and (of_urgent or _URGENT.search(item)):
                yield int(pull[1]), " ".join(item.split())


def missing(release: str, changelog: str) -> dict[int, str]:
    """The urgent notes of a release's changelog that have no line in the table, by pull request."""
    known = {each["pull"] for each in notes().get(release, ())}
    return {pull: text for pull, text in urgent(changelog) if pull not in known}


def main() -> int:
    """Print what is missing; 1 if something is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("changelog", nargs="+", type=Path, help="a changelog whose name has its release")
    count = 0
    for path in parser.parse_args().changelog:
        release = _RELEASE.search(path.name)
        if release is None:
            parser.error(f"{path.name} names no release")
        for pull, text in missing(release[0], path.read_text(encoding="utf-8")).items():
            count += 1
            print(f"{release[0]} #{pull}: {text[:200]}")
    return 1 if count else 0


if __name__ == "__main__":
    raise SystemExit(main())
