"""Manifests of a command: files, kustomizations, charts, what Argo CD and Flux deploy, and an earlier revision."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from simkit.cli.notes import note
from simkit.cli.rendering import is_chart, rendered_folder
from simkit.cli.source import standard_input
from simkit.logic.migration.kustomizations import FILES, named_paths
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at
from simkit.snapshot.sources import SUFFIXES, Piece, is_read

if TYPE_CHECKING:
    from simkit.snapshot.dump import Dump
    from simkit.snapshot.sources import Source

_SOURCES: Final = {
    ("argoproj.io", "Application"): ("spec", "source", "path"),
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): ("spec", "path"),
}
"""Where objects of Argo CD and Flux name a folder of a repository, by group and kind."""
_TEMPLATE: Final = re.compile(r"^---\n# Source: [^/\n]+/(.+)\n", re.MULTILINE)
"""What helm writes before each document: the name of the chart, and the template in its folder."""
_SECONDS: Final = 60


def read_manifests(paths: Sequence[str], *, release: str, namespace: str) -> Dump:
    """The manifests of some paths; a kustomization or a chart is rendered by the program of its project.

    Raises
    ------
    SimkitError
        For what cannot be read or rendered.
    """
    from simkit.snapshot.manifests import placed_manifests

    sources = [one for path in paths for one in _sources(path, release)]
    sources += [one for path in _named_folders(sources, paths, release) for one in _sources(path, release)]
    dump = placed_manifests(sources, release, namespace=namespace)
    made = {one.file for one in sources if isinstance(one, Piece)}
    return _placed(dump, lambda file, line: (file, None if file in made else line))


def _sources(path: str, release: str) -> list[Source]:
    """What to load for a path: kustomizations and charts rendered, also those in a folder of other manifests."""
    if path == "-":
        return [standard_input().read()]
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
            yield from (
                kustomization / named for named in named_paths(file.read_text(encoding="utf-8", errors="replace"))
            )


def _templates(path: str, text: str) -> Iterator[Piece]:
    """What was rendered, by the template that helm names for it; the lines of what kustomize renders have no file."""
    before, *parts = _TEMPLATE.split(text)
    if before.strip(" \n-"):
        yield Piece(path, before)
    for template, content in zip(parts[::2], parts[1::2], strict=True):
        yield Piece(str(Path(path) / template), content)


def _placed(dump: Dump, place: Callable[[str, int | None], tuple[str, int | None]]) -> Dump:
    """The dump with other files and lines as the places of its objects."""
    return replace(dump, origins={key: place(*found) for key, found in dump.origins.items()})


def _is_rendered(folder: Path) -> bool:
    """True for the folder of a kustomization or a chart."""
    return is_chart(str(folder)) or any((folder / name).is_file() for name in FILES)


def _named_folders(sources: Sequence[Source], paths: Sequence[str], release: str) -> Iterator[str]:
    """The folders of this checkout that applications of Argo CD and kustomizations of Flux deploy."""
    from simkit.snapshot.load import load

    given = {Path(path).resolve() for path in paths if path != "-"}
    roots = {root for path in given if (root := _root_of(path)) is not None}
    if not roots:
        return
    for obj in load([one for one in sources if not isinstance(one, bytes)], release=release):
        folder = _deployed(obj)
        for root in sorted(roots) if folder else ():
            found = (root / folder.lstrip("/")).resolve()
            if found.is_dir() and found.is_relative_to(root) and not any(found.is_relative_to(one) for one in given):
                note(f"{obj['kind']} {at(obj, 'metadata', 'name')} deploys {folder}, which is read too")
                yield str(found)


def _deployed(obj: Object) -> str:
    group = str(obj.get("apiVersion") or "").partition("/")[0]
    path = _SOURCES.get((group, str(obj.get("kind"))))
    found = at(obj, *path) if path is not None else None
    return found if isinstance(found, str) else ""


def read_earlier(paths: Sequence[str], revision: str, *, release: str, namespace: str) -> Dump:
    """The manifests of some paths as they are in another revision of their repository, with the files of this one.

    Raises
    ------
    SimkitError
        For paths outside of a repository, and for a revision that git does not know.
    """
    with tempfile.TemporaryDirectory() as folder:
        copies: dict[Path, Path] = {}
        found: dict[str, str] = {}
        for path in paths:
            place = Path(path).resolve()
            root = _root_of(place)
            if path == "-" or root is None:
                raise SimkitError(f"{path} is in no git repository, so it has no state at {revision}")
            if root not in copies:
                copies[root] = Path(folder) / str(len(copies))
                _unpack(root, revision, copies[root])
            earlier = copies[root] / place.relative_to(root)
            if earlier.exists():
                found[str(earlier)] = path
            else:
                note(f"{revision} has no {path}, so all of its objects count as new")
        dump = read_manifests(list(found), release=release, namespace=namespace)

    def as_given(file: str, line: int | None) -> tuple[str, int | None]:
        copy = next((copy for copy in found if Path(file).is_relative_to(copy)), None)
        return (str(Path(found[copy]) / Path(file).relative_to(copy)) if copy else file), line

    return _placed(dump, as_given)


def _unpack(root: Path, revision: str, into: Path) -> None:
    """Write the files of a revision into a folder, as they are in the repository, which is not changed.

    The files are written by a git directory of their own, so that no program runs that the configuration of the
    repository or of the user names (filters, file system monitors, hooks). ``git archive`` would leave out files with
    the attribute ``export-ignore``.
    """
    into.mkdir()
    try:
        commit = _git(root, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except SimkitError:
        hint = "name a branch, a tag or a commit, and fetch it first if the clone is shallow"
        raise SimkitError(f"git knows no revision {revision!r}; {hint}") from None
    form = _git(root, "rev-parse", "--show-object-format").decode().strip()
    objects = root / os.fsdecode(_git(root, "rev-parse", "--git-path", "objects").removesuffix(b"\n"))
    own = Path(f"{into}.git")
    _git(into, "init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(own))
    (own / "objects" / "info" / "alternates").write_bytes(os.fsencode(objects.resolve()) + b"\n")
    apart = {
        "GIT_DIR": str(own),
        "GIT_WORK_TREE": str(into),
        "GIT_INDEX_FILE": str(own / "index"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    _git(into, "read-tree", commit.decode().strip(), **apart)
    _git(into, "checkout-index", "--all", **apart)


def _root_of(path: Path) -> Path | None:
    """The root of the git repository that holds a path; None if there is none."""
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)


def _git(folder: Path, *words: str, **environment: str) -> bytes:
    """What git writes. Objects that are missing from the repository are not fetched."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), *words],  # noqa: S607
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "GIT_ALLOW_PROTOCOL": "none", **environment},
        )
    except FileNotFoundError:
        raise SimkitError("git is not installed; leave out --against, or install git") from None
    except subprocess.TimeoutExpired:
        raise SimkitError(f"git did not answer within {_SECONDS} seconds") from None
    if done.returncode:
        raise SimkitError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()[:500]}")
    return done.stdout
