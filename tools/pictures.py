"""The pictures of README.md, made by simkit's own plots: ``python -m tools.pictures``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import simkit

FOLDER: Final = Path("docs/pictures")
SHOWN: Final = 4
"""Paths in the picture: as many as a reader can follow."""


def draw() -> Path:
    """Draw four escalation paths of the demo cluster, and give back where the picture is."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    target = FOLDER / "escalations.png"
    paths = simkit.demo(seed=1).escalations(goal="cluster-admin")
    paths[:SHOWN].plot().savefig(target, dpi=90, metadata={"Software": None})
    return target


if __name__ == "__main__":
    print(draw())
