"""Charts rendered by helm, for commands that read manifests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

from simkit.cli.notes import note
from simkit.meta.errors import SimkitError
from simkit.snapshot.sources import Piece

CHART: Final = "Chart.yaml"
SECONDS: Final = 120
"""The time after which a chart that is not rendered yet is given up."""


def is_chart(path: str) -> bool:
    """True if a path is the folder of a chart."""
    return (Path(path) / CHART).is_file()


def rendered(path: str, release: str) -> Piece:
    """The manifests of a chart, as ``helm template`` writes them for a release of Kubernetes.

    Raises
    ------
    SimkitError
        Where helm is not installed, or does not render the chart: with its own words.
    """
    helm = shutil.which("helm")
    if helm is None:
        raise SimkitError(
            f"helm is not installed, so that {path} cannot be rendered; leave out --helm to read it plain"
        )
    folder = Path(path).resolve()
    # The folder may be called like a flag, such as that for a program to run.
    words = [helm, "template", "--kube-version", release, "--include-crds", "--", folder.name, str(folder)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise SimkitError(f"helm did not render {path} within {SECONDS} seconds") from None
    if done.returncode:
        raise SimkitError(f"helm does not render {path}: {done.stderr.strip()[:500]}")
    note(f"rendered by helm: {path}")
    return Piece(path, done.stdout)


__all__ = ["is_chart", "rendered"]
