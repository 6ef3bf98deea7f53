"""Widgets and exercises for notebooks, imported on first use.

``panel(cluster)`` asks and tries; ``exercises`` checks a reader's answers by execution.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simkit.notebook.access_checks import must, must_not
    from simkit.notebook.access_panel import Panel, panel
    from simkit.notebook.exercises import Exercise, Guess, Verdict

__all__ = ["Exercise", "Guess", "Panel", "Verdict", "must", "must_not", "panel"]

_HOMES = {
    "Exercise": "simkit.notebook.exercises",
    "Guess": "simkit.notebook.exercises",
    "Verdict": "simkit.notebook.exercises",
    "must": "simkit.notebook.access_checks",
    "must_not": "simkit.notebook.access_checks",
    "Panel": "simkit.notebook.access_panel",
    "panel": "simkit.notebook.access_panel",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simkit.notebook' has no attribute {name!r}")
    return getattr(import_module(home), name)
