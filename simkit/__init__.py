"""An API server you can hold in a notebook cell, and the policy analyses that stand on it.

>>> import simkit
>>> cluster = simkit.Cluster(seed=1)
>>> cluster.get("namespace", "default")["status"]
{'phase': 'Active'}

``Cluster`` makes one, ``load`` one out of a dump; everything else is reached through them, or imported from
``simkit.analysis``. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simkit.analysis.admission.cel import cel
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.loading import demo, fetch, load
    from simkit.meta.clock import SimulatedClock
    from simkit.meta.errors import IncompleteSnapshot, SimkitError, StatusError

__all__ = [
    "Cluster",
    "IncompleteSnapshot",
    "SimkitError",
    "SimulatedClock",
    "StatusError",
    "cel",
    "demo",
    "fetch",
    "load",
]
__version__ = "0.1.0"

_HOMES = {
    "cel": "simkit.analysis.admission.cel",
    "Cluster": "simkit.cluster.cluster",
    "load": "simkit.cluster.loading",
    "demo": "simkit.cluster.loading",
    "fetch": "simkit.cluster.loading",
    "SimulatedClock": "simkit.meta.clock",
    "IncompleteSnapshot": "simkit.meta.errors",
    "SimkitError": "simkit.meta.errors",
    "StatusError": "simkit.meta.errors",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simkit' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
