"""The notebooks that come with simkit: at the top of a checkout, inside the package in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from simkit.meta.errors import SimkitError


def notebook(name: str) -> Path:
    """The path of a notebook: ``01-rbac-audit.ipynb``, ``course/...``. SimkitError that lists them for other names."""
    package = Path(__file__).resolve().parents[2]
    folders = (package / "notebooks", package.parent / "notebooks")
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    there = [folder for folder in folders if folder.is_dir()]
    known = sorted(path.relative_to(folder).as_posix() for folder in there for path in folder.rglob("*.ipynb"))
    raise SimkitError(f"there is no notebook {name!r}; those that come with simkit: {', '.join(known) or 'none'}")
