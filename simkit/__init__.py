"""A Kubernetes API server in memory, and analyses of access and upgrades that are proven by executing them.

>>> import simkit
>>> cluster = simkit.Cluster(seed=1)
>>> cluster.get("namespace", "default")["status"]
{'phase': 'Active'}

``Cluster()`` starts an empty cluster, ``load(path)`` reads a dump, ``fetch(context)`` copies a running cluster, and
``demo()`` returns the demo cluster. The analyses are methods of a cluster, and functions in ``simkit.analysis``. Large
libraries are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simkit.meta.distribution import VERSION

if TYPE_CHECKING:
    from simkit import analysis, notebook, testing
    from simkit.analysis.admission.cel import cel
    from simkit.cluster.cluster import Cluster, Trial
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
    "load",
    "notebook",
    "service_account",
    "testing",
]
__version__ = VERSION

_PACKAGES = ("analysis", "notebook", "testing")
_HOMES = {
    "cel": "simkit.analysis.admission.cel",
    "Options": "simkit.cluster.options",
    "Trial": "simkit.cluster.cluster",
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
        raise _absent(name)
    return getattr(import_module(home), name)


_GUESSED = {
    "load_dump": "load(path)",
    "read_dump": "load(path)",
    "read": "load(path)",
    "open": "load(path)",
    "connect": "fetch(context)",
    "compare": "after.compare(before=before), or simkit.analysis.compare(before, after)",
    "diff": "after.compare(before=before), or simkit.analysis.compare(before, after)",
    "plot": "the plot() of a result, or simkit.analysis.plots",
    "plots": "the plot() of a result, or simkit.analysis.plots",
    "load_audit_log": "no step of its own: audit_log= takes the path of a log",
    "read_audit_log": "no step of its own: audit_log= takes the path of a log",
    "AuditLog": "no step of its own: audit_log= takes the path of a log",
}
"""Names that people guess, and what to write instead."""


def _absent(name: str) -> AttributeError:
    from simkit.meta.wrong_names import absent

    known = () if name.startswith("_") else import_module("simkit.analysis").__all__
    hint = f"simkit.analysis.{name}, or the method {name}() of a cluster" if name in known else _GUESSED.get(name, "")
    return absent("simkit", name, __all__, {name: hint} if hint else {})


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook ``%kubectl``, ``%%kubectl``, ``%%apply`` and their completion: ``%load_ext simkit``."""
    import_module("simkit.notebook.magics").load_ipython_extension(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
