"""Kustomizations and charts, rendered by the programs of their projects."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from simkit.cli.helm import SECONDS, is_chart, rendered
from simkit.cli.notes import note
from simkit.meta.errors import SimkitError

_REMOTE: Final = re.compile(r"://|git@|github\.com/|\?ref=|^helmCharts:", re.MULTILINE)
"""What a kustomization says that is fetched from elsewhere."""


def renderer(release: str) -> Callable[[Path], str]:
    """A function that renders the folder of a kustomization or chart, and raises SimkitError where it cannot.

    Nothing is fetched: a kustomization that names other hosts is not rendered. What is not rendered is noted.
    """

    def render(folder: Path) -> str:
        try:
            return str(rendered(str(folder), release).content) if is_chart(str(folder)) else _kustomized(folder)
        except SimkitError as wrong:
            note(f"not compared as it reaches the cluster: {folder}: {wrong}")
            raise

    return render


def _kustomized(folder: Path) -> str:
    program, kubectl = shutil.which("kustomize"), shutil.which("kubectl")
    words = [program, "build"] if program is not None else [kubectl or "", "kustomize"]
    if program is None and kubectl is None:
        raise SimkitError("neither kustomize nor kubectl is installed")
    remote = [path for path in folder.parent.rglob("*ustomization*") if path.is_file() and _names_hosts(path)]
    if remote:
        raise SimkitError(f"{remote[0].name} of {remote[0].parent.name} names another host")
    try:
        done = subprocess.run(  # noqa: S603
            [*words, str(folder.resolve())], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SimkitError(f"it was not rendered within {SECONDS} seconds") from None
    if done.returncode:
        raise SimkitError(done.stderr.strip()[:500])
    return done.stdout


def _names_hosts(path: Path) -> bool:
    return _REMOTE.search(path.read_text(encoding="utf-8", errors="replace")) is not None
