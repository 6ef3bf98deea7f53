"""Build the documentation site: ``python -m tools.site``; the warnings of Sphinx are errors."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from simkit.present.design import MARK_ON_PAPER, stylesheet
from tools.playground import __main__ as playground
from tools.playground import lessons
from tools.site.catalogues import catalogue_pages
from tools.site.commands import command_pages
from tools.site.interface import interface_pages
from tools.site.sources import collect, keep_only, put

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = ROOT / "build/site-source"
TARGET: Final = ROOT / "build/site"
CACHE: Final = ROOT / "build/site-cache"


def main() -> int:
    """Collect and make all pages, have Sphinx build the site, and return its exit code."""
    written = collect(ROOT, SOURCE)
    for name, text in {**command_pages(), **interface_pages(), **catalogue_pages(ROOT)}.items():
        written.add(put(SOURCE / name, text))
    written |= {put(SOURCE / "static/simkit.css", stylesheet()), put(SOURCE / "static/mark.svg", MARK_ON_PAPER)}
    keep_only(SOURCE, written)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "SIMKIT_SITE_CACHE": str(CACHE / fingerprint(ROOT)),
    }
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", str(os.cpu_count() or 1)]
    words += ["-b", "html", "-d", str(CACHE / "doctrees"), str(SOURCE), str(TARGET)]
    code = subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode
    if code == 0:
        add_playground()
        print(f"the site is in {TARGET.relative_to(ROOT)}: {len(list(TARGET.rglob('*.html')))} pages")
    return code


def add_playground() -> None:
    """Put what runs in browsers on the site; without node and the registries, pages that say why it is missing.

    With ``SIMKIT_BUILT_SITES`` in the environment, what was built before is taken as it is.
    """
    for name, part in (("playground", playground), ("lessons", lessons)):
        shutil.rmtree(TARGET / name, ignore_errors=True)
        try:
            if not (os.environ.get("SIMKIT_BUILT_SITES") and part.TARGET.exists()):
                part.main()
            shutil.copytree(part.TARGET, TARGET / name)
        except SystemExit as lack:
            told = f"This copy of the site was built without this part: {lack}."
            print(told)
            (TARGET / name).mkdir()
            put(TARGET / name / "index.html", f"<!DOCTYPE html><meta charset=utf-8><title>simkit</title><p>{told}</p>")


def fingerprint(root: Path) -> str:
    """A name for the state of all code and data: outputs of notebooks are kept as long as it stays."""
    made = hashlib.sha256()
    for folder in ("simkit", "datasets"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                made.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return made.hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
