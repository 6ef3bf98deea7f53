"""Folders and archives of other programs, and their files with objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

_TEXTS: Final = frozenset((".json", ".yaml", ".yml"))


class Layout(NamedTuple):
    """The layout of one program: its name, the file that identifies it, and its files with objects."""

    name: str
    marks: Callable[[PurePath], bool]
    holds: Callable[[PurePath], bool]


def _within(path: PurePath, *folders: str) -> bool:
    return path.suffix.lower() in _TEXTS and any(folder in path.parts[:-1] for folder in folders)


def _velero_holds(path: PurePath) -> bool:
    """True for files of objects by resource; copies in other versions are under resource and version."""
    parts = path.parts
    if not _within(path, "resources"):
        return False
    below = parts[parts.index("resources") + 2 :]
    return bool(below) and below[0] in ("cluster", "namespaces")


def _bundle_holds(path: PurePath) -> bool:
    told = path.name.endswith("-errors.json") or path.name in ("groups.json", "resources.json")
    return _within(path, "cluster-resources") and not told and "auth-cani-list" not in path.parts


LAYOUTS: Final = (
    Layout(
        "must-gather",
        lambda path: "cluster-scoped-resources" in path.parts[:-1],
        lambda path: _within(path, "cluster-scoped-resources", "namespaces"),
    ),
    Layout("Velero backup", lambda path: path.parts[-2:] == ("metadata", "version"), _velero_holds),
    Layout(
        "Sonobuoy snapshot",
        lambda path: path.name == "servergroups.json",
        lambda path: _within(path, "resources"),
    ),
    Layout(
        "support bundle",
        lambda path: path.parts[-2:] == ("cluster-info", "cluster_version.json"),
        _bundle_holds,
    ),
)
"""The known layouts; the first whose marker file exists applies. Other folders are read file by file.

References: the output format that Velero documents; the enhancement proposal of must-gather; the snapshot
documentation of Sonobuoy; the collectors clusterInfo and clusterResources of Troubleshoot. What
``kubectl cluster-info dump`` writes needs no layout: its objects are JSON and its logs are not.
"""


def layout_of(paths: Iterable[PurePath]) -> Layout | None:
    """The layout of a folder or archive; None if it is unknown.

    Examples
    --------
    >>> layout_of([PurePath("backup/metadata/version"), PurePath("backup/resources/pods/namespaces/a/b.json")]).name
    'Velero backup'
    """
    listed: Sequence[PurePath] = list(paths)
    return next((layout for layout in LAYOUTS if any(map(layout.marks, listed))), None)
