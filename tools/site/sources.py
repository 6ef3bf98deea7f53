"""The pages and notebooks of the repository, put where the site has them, with links that lead to its pages."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

TOP: Final = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages at the top of the repository, with their names on the site."""
LEFT_OUT: Final = ("solutions", ".ipynb_checkpoints")
"""Folders that are not shown on the site."""
_PICTURE: Final = re.compile(
    r'<picture>\s*<source media="[^"]*dark[^"]*" srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*</picture>'
)
_LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)((?:#[^)]*)?)\)")


def collect(root: Path, target: Path) -> set[Path]:
    """Copy pages, pictures and notebooks into a folder; returns the files that are there now."""
    places = {root / source: target / name for source, name in site_paths(root).items()}
    for source, place in places.items():
        if source.suffix == ".md":
            put(place, relinked(themed(source.read_text()), source, places))
        else:
            copy(source, place)
    return set(places.values())


def site_paths(root: Path) -> dict[str, str]:
    """Paths in the repository, and the paths of the same files on the site."""
    docs = {
        path.relative_to(root).as_posix(): path.relative_to(root / "docs").as_posix()
        for path in sorted((root / "docs").rglob("*"))
        if path.is_file() and not _left_out(path.relative_to(root))
    }
    notebooks = {
        path.relative_to(root).as_posix(): path.relative_to(root).as_posix()
        for path in sorted((root / "notebooks").rglob("*.ipynb"))
        if not _left_out(path.relative_to(root))
    }
    return {**TOP, **docs, **notebooks}


def _left_out(path: Path) -> bool:
    return not set(LEFT_OUT).isdisjoint(path.parts)


def themed(text: str) -> str:
    """The text of a page in which a picture with a dark one is two, of which the theme shows one."""

    def both(found: re.Match[str]) -> str:
        dark, words, light = found.groups()
        shown = ((light, "only-light"), (dark, "only-dark"))
        return "\n\n".join(f"```{{image}} {path}\n:alt: {words}\n:class: {theme}\n```" for path, theme in shown)

    return _PICTURE.sub(both, text)


def relinked(text: str, page: Path, places: dict[Path, Path]) -> str:
    """The text of a page with links between pages as they are on the site.

    A link to another file of the repository becomes the path of that file.
    """

    def link(found: re.Match[str]) -> str:
        title, address, part = found.groups()
        if "://" in address or address.startswith("mailto:"):
            return found[0]
        wanted = (page.parent / address).resolve()
        place = places.get(wanted)
        if place is not None:
            return f"[{title}]({os.path.relpath(place, places[page].parent)}{part})"
        if wanted.exists():
            return title if title.startswith("`") else f"{title} (`{_shown(wanted, page)}`)"
        return found[0]

    return _LINK.sub(link, text)


def _shown(path: Path, page: Path) -> str:
    top = next(parent for parent in page.parents if (parent / "pyproject.toml").is_file())
    return path.relative_to(top).as_posix()


def put(path: Path, text: str) -> Path:
    """Write a file unless it has this text already, so that Sphinx reads only what has changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)
    return path


def copy(source: Path, place: Path) -> None:
    """Copy a file with its time, unless the same is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.is_file() or place.read_bytes() != source.read_bytes():
        shutil.copy2(source, place)


def keep_only(folder: Path, written: set[Path]) -> None:
    """Remove the files of an earlier build."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path not in written:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
