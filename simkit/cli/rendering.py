"""Kustomizations and charts, rendered by the programs of their projects."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simkit.cli.notes import note
from simkit.meta.errors import SimkitError
from simkit.snapshot.sources import Piece

_CHART: Final = "Chart.yaml"
_SECONDS: Final = 120
"""The time after which what is not rendered yet is given up."""
_REMOTE: Final = re.compile(r"://|git@|github\.com/|\?ref=|^helmCharts:", re.MULTILINE)
"""What a kustomization says that is fetched from elsewhere."""


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
    note(f"rendered by helm: {path}")
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
    remote = [path for path in folder.parent.rglob("*ustomization*") if path.is_file() and _names_hosts(path)]
    if remote:
        raise SimkitError(f"{remote[0].name} of {remote[0].parent.name} names another host")
    return _output([*words, str(folder.resolve())], "it was not rendered")


def _names_hosts(path: Path) -> bool:
    return _REMOTE.search(path.read_text(encoding="utf-8", errors="replace")) is not None
