"""Grants and denials of a provider of which it is not known whether they count, as answers about access tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import ACCESS_ENTRIES
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.question import Question
from simkit.meta.attributes import Attributes, Decision
from simkit.seams.authorization import MOST_NAMED
from simkit.seams.caveats import Caveat

if TYPE_CHECKING:
    from simkit.logic.providers.access_entries import AccessEntryBindings

_indexes: WeakKeyDictionary[AccessEntryBindings, AccessIndex] = WeakKeyDictionary()


def _index(view: AccessEntryBindings | None) -> AccessIndex | None:
    """The index of some grants of which it is not known whether they count; None if there are none."""
    if view is None:
        return None
    if view not in _indexes:
        _indexes[view] = AccessIndex.of_entries(view)
    return _indexes[view]


def why_unknown(index: AccessIndex, ask: Attributes, decision: Decision) -> str:
    """The reason for which a decision is not known; empty for one that is."""
    entries = index.entries
    if entries is None:
        return ""
    if not decision.allowed:
        undecided = _index(entries.undecided_credentials if entries.denial(ask)[0] else entries.undecided)
        found = undecided.authorize(ask) if undecided is not None else None
        if found is None or not found.allowed:
            return ""
        return f"not known whether this counts: {display_name(found.evidence[0].binding)}"
    by_provider = any(one.binding.resource in ACCESS_ENTRIES for one in decision.evidence)
    holds, name = entries.denial(ask) if by_provider and entries.denials else (False, "")
    if holds is None and not index.authorize(ask, of_roles=True).allowed:
        return f"not known whether this denies it: {name}"
    return ""


def unknown_holders(index: AccessIndex, question: Question) -> Iterator[Caveat]:
    """What an answer about everybody leaves open: the grants of which it is not known whether they count."""
    undecided = _index(None if index.entries is None else index.entries.undecided)
    if undecided is None:
        return
    found = {
        f"{text_of(one.grant.subject)} by {display_name(one.grant.binding)}": None for one in undecided.who(question)
    }
    if found:
        named = "; ".join([*found][:MOST_NAMED])
        more = f"; and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
        yield Caveat("unknown-grants", f"Unknown: these may be allowed it, too: {named}{more}.")
