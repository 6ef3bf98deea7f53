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
from typing import Any, Final

from simkit.meta.distribution import VERSION
from simkit.meta.lazy_names import import_names_lazily

__version__ = VERSION

_GUESSED: Final = {
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


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook ``%kubectl``, ``%%kubectl``, ``%%apply`` and their completion: ``%load_ext simkit``."""
    import_module("simkit.notebook.magics").load_ipython_extension(shell)


def _hint(name: str) -> str:
    known = () if name.startswith("_") else import_module("simkit.analysis").__all__
    return f"simkit.analysis.{name}, or the method {name}() of a cluster" if name in known else _GUESSED.get(name, "")


import_names_lazily(__name__, _hint)
