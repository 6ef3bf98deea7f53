"""Manifests of folders: kustomizations and charts as their projects render them, and what Argo CD and Flux deploy."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText
from simkit.logic.migration.kustomizations import FILES, PLUGINS, loaded_paths, named_paths
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load, placed_manifests
from simkit.snapshot.sources import SUFFIXES, Piece, Source, is_read, is_text

_SOURCES: Final = {
    ("argoproj.io", "Application"): ("spec", "source", "path"),
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): ("spec", "path"),
}
"""Where objects of Argo CD and Flux name a folder of a repository, by group and kind."""
_TEMPLATE: Final = re.compile(r"^---\n# Source: [^/\n]+/(.+)\n", re.MULTILINE)
"""What helm writes before each document: the name of the chart, and the template in its folder."""
_CHART: Final = "Chart.yaml"
_SECONDS: Final = 120
"""The time after which what is not rendered yet is given up."""
_ADDRESS: Final = re.compile(r"://|::|git@|^gh:|github\.com[:/]|_git/|\.git(?:$|[/?])|\?", re.IGNORECASE)
"""What kustomize takes for an address, even if there is a file of that name."""


def read_manifests(
    source: Source, release: str, *, namespace: str = DEFAULT_NAMESPACE, told: Callable[[str], object] = str
) -> Dump:
    """The manifests of a source; in its folders, kustomizations and charts are rendered.

    Parameters
    ----------
    told
        Called with what is read besides.

    Raises
    ------
    SimkitError
        For what cannot be read or rendered.
    """
    given = list(source) if isinstance(source, list | tuple) else [source]
    paths = [str(one) for one in given if _is_path(one)]
    sources = [found for one in given for found in (_sources(str(one), release) if _is_path(one) else [one])]
    sources += [one for path in _named_folders(sources, paths, release, told) for one in _sources(path, release)]
    made = {one.file for one in sources if isinstance(one, Piece)}
    dump = placed_manifests(sources, release, namespace=namespace)
    return placed(dump, lambda file, line: (file, None if file in made else line))


def _is_path(source: Any) -> bool:
    return isinstance(source, str | Path) and not is_text(str(source)) and _exists(Path(source))


def placed(dump: Dump, place: Callable[[str, int | None], tuple[str, int | None]]) -> Dump:
    """The dump with other files and lines as the places of its objects."""
    return replace(dump, origins={key: place(*found) for key, found in dump.origins.items()})


def _sources(path: str, release: str) -> list[Source]:
    """What to load for a path: kustomizations and charts rendered, also those in a folder of other manifests."""
    folder = Path(path)
    inside = [one for one in sorted(folder.rglob("*")) if one.is_dir() and _is_rendered(one)]
    if _is_rendered(folder):
        return list(_templates(path, rendered_folder(folder, release)))
    if not inside:
        return [path]
    parts = {one.resolve() for root in inside for one in _parts_of(root)}
    return list(_contents(folder, inside, parts, release))


def _contents(folder: Path, inside: Sequence[Path], parts: Collection[Path], release: str) -> Iterator[Source]:
    """What to load for a folder in which some folders are rendered, without what is a part of a kustomization."""
    for path in sorted(folder.iterdir()):
        if path.resolve() in parts or (path.is_dir() and path.name.startswith(".")):
            continue
        if not path.resolve().is_relative_to(folder.resolve()):
            raise SimkitError(f"{path}: a link that leads out of the folder; name the file itself to have it read")
        if path in inside:
            yield from _templates(str(path), rendered_folder(path, release))
        elif path.is_dir() and not path.is_symlink():
            yield from _contents(path, inside, parts, release)
        elif path.suffix.lower() in SUFFIXES and path.is_file() and is_read(path, path.read_bytes()):
            yield str(path)


def _parts_of(kustomization: Path) -> Iterator[Path]:
    """The files and folders that the kustomization of a folder names."""
    for name in FILES:
        file = kustomization / name
        if file.is_file():
            named = named_paths(file.read_text(encoding="utf-8", errors="replace"))
            yield from (kustomization / one for one in named if _exists(kustomization / one))


def _templates(path: str, text: str) -> Iterator[Piece]:
    """What was rendered, by the template that helm names for it; the lines of what kustomize renders have no file."""
    before, *parts = _TEMPLATE.split(text)
    if before.strip(" \n-"):
        yield Piece(path, before)
    for template, content in zip(parts[::2], parts[1::2], strict=True):
        yield Piece(str(Path(path) / template), content)


def _is_rendered(folder: Path) -> bool:
    """True for the folder of a kustomization or a chart."""
    return is_chart(str(folder)) or any((folder / name).is_file() for name in FILES)


def _named_folders(
    sources: Sequence[Source], paths: Sequence[str], release: str, told: Callable[[str], object]
) -> Iterator[str]:
    """The folders of this checkout that applications of Argo CD and kustomizations of Flux deploy."""
    given = {Path(path).resolve() for path in paths}
    roots = {root for path in given if (root := repository_of(path)) is not None}
    if not roots:
        return
    for obj in load([one for one in sources if not isinstance(one, bytes)], release=release):
        folder = _deployed(obj)
        for root in sorted(roots) if folder and "\0" not in folder else ():
            found = (root / folder.lstrip("/")).resolve()
            if found.is_dir() and found.is_relative_to(root) and not any(found.is_relative_to(one) for one in given):
                told(f"{obj['kind']} {at(obj, 'metadata', 'name')} deploys {folder}, which is read too")
                yield str(found)


def _deployed(obj: Object) -> str:
    group = str(obj.get("apiVersion") or "").partition("/")[0]
    path = _SOURCES.get((group, str(obj.get("kind"))))
    found = at(obj, *path) if path is not None else None
    return found if isinstance(found, str) else ""


def repository_of(path: Path) -> Path | None:
    """The root of the git repository that holds a path; None if there is none."""
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)


def is_chart(path: str) -> bool:
    """True if a path is the folder of a chart."""
    return (Path(path) / _CHART).is_file()


def rendered(path: str, release: str) -> Piece:
    """The manifests of a chart, as ``helm template`` writes them for a release of Kubernetes, without its tests.

    Raises
    ------
    SimkitError
        Where helm is not installed, or does not render the chart: with its own words.
    """
    helm = shutil.which("helm")
    if helm is None:
        raise SimkitError(f"the chart {path} cannot be rendered without helm; install helm, or leave the chart out")
    folder = Path(path).resolve()
    # The folder may be called like a flag, such as that for a program to run.
    words = [
        helm,
        "template",
        "--kube-version",
        release,
        "--include-crds",
        "--skip-tests",
        "--",
        folder.name,
        str(folder),
    ]
    text = _output(words, f"helm did not render {path}", f"helm does not render {path}: ")
    return Piece(path, text)


def _output(words: Sequence[str], late: str, failed: str = "") -> str:
    """What a program writes. Raises SimkitError with its own words, or where it takes too long."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise SimkitError(f"{late} within {_SECONDS} seconds") from None
    if done.returncode:
        raise SimkitError(f"{failed}{done.stderr.strip()[:500]}")
    return done.stdout


def rendered_folder(folder: Path, release: str) -> str:
    """What the folder of a kustomization or chart becomes. Raises SimkitError where it cannot be rendered."""
    return str(rendered(str(folder), release).content) if is_chart(str(folder)) else _kustomized(folder)


def _kustomized(folder: Path) -> str:
    program, kubectl = shutil.which("kustomize"), shutil.which("kubectl")
    words = [program, "build"] if program is not None else [kubectl or "", "kustomize"]
    if program is None and kubectl is None:
        raise SimkitError("neither kustomize nor kubectl is installed")
    _refuse_addresses(folder, set())
    return _output([*words, str(folder.resolve())], "it was not rendered")


def _refuse_addresses(folder: Path, seen: set[Path]) -> None:
    """Raises SimkitError if kustomize would load something for a folder that is not there, and so fetch it."""
    file = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if file is None or folder.resolve() in seen:
        return
    seen.add(folder.resolve())
    try:
        named = list(loaded_paths(file.read_text(encoding="utf-8")))
    except (BrokenText, UnicodeDecodeError) as wrong:
        raise SimkitError(f"{file} cannot be read: {wrong}") from None
    for field, name in named:
        inside, path = "\n" in name, folder / name
        if _ADDRESS.search(name) or not (inside or _exists(path)):
            raise SimkitError(f"{file} names {name[:100]!r}, which is no file of this checkout, and nothing is fetched")
        if inside:
            continue
        if path.is_dir():
            _refuse_addresses(path, seen)
        elif field in PLUGINS and re.search(r"://|\\", path.read_text(encoding="utf-8", errors="replace")):
            raise SimkitError(f"{path} may name an address for a plugin of kustomize, and nothing is fetched")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (ValueError, OSError):  # no name of a file
        return False
