"""The pictures of README.md and docs/gallery.md, made by simkit's own plots: ``python -m tools.pictures``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import simkit
from simkit.analysis import timeline
from simkit.analysis.plots import (
    access_drift,
    access_heat_map,
    binding_graph,
    findings_by_severity,
    subjects_by_reach,
    version_timeline,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER: Final = Path("docs/pictures")
SHOWN: Final = 4
"""Paths in the picture of README.md: as many as a reader can follow."""
DPI: Final = 70


def pictures() -> Iterator[tuple[str, Axes]]:
    """Each picture with its name."""
    cluster = simkit.demo(seed=1)
    paths = cluster.escalations(goal="cluster-admin")
    yield "escalations", paths[:SHOWN].plot()
    yield "escalations-all", paths.plot()
    yield "blast-radius", cluster.blast_radius("group:oidc:on-call").plot()
    yield "causes", cluster.causes().plot()
    yield "plan", cluster.remediation_plan(best=5).plot()
    yield "findings", findings_by_severity(cluster.findings())
    yield "reach", subjects_by_reach(cluster.reach())
    yield "exposure", access_heat_map(cluster.exposure())
    yield "bindings", binding_graph(cluster.access_graph(rules=False))
    with cluster.what_if() as trial:
        trial.delete("clusterrolebinding", "pellowick:on-call")
        trial.delete("clusterrolebinding", "pellowick:platform-team")
    yield "drift", access_drift(trial.compare())
    yield "operation", cluster.drain_nodes("depot-a1").plot()
    yield "timeline", version_timeline(timeline(["policy", "autoscaling", "flowcontrol.apiserver.k8s.io"]), now="1.30")


def draw() -> list[Path]:
    """Draw all pictures, and give back where they are."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = []
    for name, axes in pictures():
        target = FOLDER / f"{name}.png"
        whole = axes.get_figure(root=True)
        assert whole is not None, "every picture is of a figure"
        whole.savefig(target, dpi=DPI, metadata={"Software": None})
        made.append(target)
    return made


if __name__ == "__main__":
    print("\n".join(map(str, draw())))
