"""Answers to exercises carried out on a fork."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.names import Key

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster


def as_it_is(trial: Cluster, answer: Any) -> None:
    """Nothing is carried out: for exercises (``Exercise(carry_out=...)``) whose checks look at the answer itself."""


def carry_out(answer: Any, trial: Cluster, how: Callable[[Cluster, Any], object] | None) -> str:
    """Change a fork as an answer says. Functions are called with it, and all else is applied to it as manifests.

    Parameters
    ----------
    answer
        A function, text, mapping, or list of mappings.
    trial
        The fork.
    how
        What carries out the answer instead.

    Returns
    -------
    str
        A remark for learners whose answer turns out to be wrong; mostly empty.
    """
    if how is not None:
        how(trial, answer)
        return ""
    if callable(answer):
        return _remark(answer(trial))
    trial.apply(f"{answer}\n" if isinstance(answer, str) else answer)  # the end of a line tells text from a path
    return ""


def _remark(given: object) -> str:
    """A remark about a function that gives back manifests instead of applying them."""
    if isinstance(given, str | Mapping) or (isinstance(given, Sequence) and given and isinstance(given[0], Mapping)):
        return "the function gave something back, and nothing is done with it: call trial.apply(...) in the function"
    return ""


MANY: Final = 5
"""Removed objects of which no answer needs as many."""
SHOWN: Final = 8


def removed_by(before: Cluster, after: Cluster) -> tuple[str, ...]:
    """Lines about the namespaces that an answer removed, or about the objects, if it removed many.

    Parameters
    ----------
    before, after
        The cluster without and with the answer.
    """
    gone = sorted(_keys(before) - _keys(after), key=str)
    spaces = [key.name for key in gone if key.resource.resource == "namespaces" and not key.resource.group]
    if spaces:
        return tuple(f"the namespace {name} is gone, with everything in it" for name in spaces)
    if len(gone) <= MANY:
        return ()
    more = [f"and {len(gone) - SHOWN} more"] if len(gone) > SHOWN else []
    return (*map(str, gone[:SHOWN]), *more)


def _keys(cluster: Cluster) -> set[Key]:
    engine = cluster.engine
    return set(chain.from_iterable((e.key for e in engine.store.scan(r.storage)) for r in engine.catalogue.stored()))
