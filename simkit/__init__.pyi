from typing import Any

from simkit import analysis, notebook, testing
from simkit.analysis.admission.cel import cel
from simkit.analysis.history.reconstruction import history
from simkit.cluster.cluster import Cluster, Trial
from simkit.cluster.followed import follow
from simkit.cluster.loading import demo, fetch, load
from simkit.cluster.options import Options
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
    "follow",
    "history",
    "load",
    "notebook",
    "service_account",
    "testing",
]

__version__: str

def load_ipython_extension(shell: Any) -> None: ...
