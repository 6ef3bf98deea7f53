"""Changed behaviour, as data: what releases change beside API versions, and what to look for.

``entries`` is the table of ``datasets/upgrade``, ``find`` looks for all of it in one pass. ``fields``, ``label_names``,
``components`` and ``skew`` are the ways to look.
"""

from simkit.analysis.upgrade.behaviour.entries import Entry, behaviour_entries
from simkit.analysis.upgrade.behaviour.find import BehaviourSearch

__all__ = ["BehaviourSearch", "Entry", "behaviour_entries"]
