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
    from simkit import analysis, notebook, testing
    from simkit.analysis.admission.cel import cel
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.loading import demo, fetch, load
    from simkit.cluster.options import Options
    from simkit.cluster.trial import Trial
    from simkit.meta.clock import SimulatedClock
    from simkit.meta.errors import IncompleteSnapshot, SimkitError, StatusError
    from simkit.meta.identity import Identity, service_account
    from simkit.meta.message import Request
    from simkit.snapshot.dump import Dump
    from simkit.snapshot.unpacking import Limits

__all__ = [
    "Cluster",
    "Dump",
    "Identity",
    "IncompleteSnapshot",
    "Limits",
    "Options",
    "Request",
    "SimkitError",
    "SimulatedClock",
    "StatusError",
    "Trial",
    "analysis",
    "cel",
    "demo",
    "fetch",
    "load",
    "notebook",
    "service_account",
    "testing",
]
__version__ = "0.1.0"

_PACKAGES = ("analysis", "notebook", "testing")
_HOMES = {
    "cel": "simkit.analysis.admission.cel",
    "Options": "simkit.cluster.options",
    "Trial": "simkit.cluster.trial",
    "Identity": "simkit.meta.identity",
    "Request": "simkit.meta.message",
    "service_account": "simkit.meta.identity",
    "Dump": "simkit.snapshot.dump",
    "Limits": "simkit.snapshot.unpacking",
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
    if name in _PACKAGES:
        return import_module(f"simkit.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simkit' has no attribute {name!r}")
    return getattr(import_module(home), name)


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook ``%kubectl``, ``%%kubectl``, ``%%apply`` and their completion: ``%load_ext simkit``."""
    import_module("simkit.notebook.magics").load_ipython_extension(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
