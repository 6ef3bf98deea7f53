"""The words for what executing a path showed, and the counts of them: one place for every output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, Protocol

from simkit.present.colours import GREEN, ORANGE, SKY, VERMILION

PROVEN: Final = "proven"
ASSUMED: Final = "proven with assumptions"
NOT_PROVEN: Final = "not proven"
NOT_EXECUTED: Final = "not executed"

Outcome = Literal["proven", "not proven", "not executed"]
"""``not proven``: the server refused a request. ``not executed``: nothing is known, since it could not be tried."""
COLOURS: Final = {PROVEN: GREEN, ASSUMED: SKY, NOT_PROVEN: VERMILION, NOT_EXECUTED: ORANGE}


class Executed(Protocol):
    """A proof, as far as it is counted."""

    @property
    def counted_as(self) -> str: ...


def verdict(outcome: Outcome, assumed: int) -> str:
    """The outcome as a text, with the number of assumptions that a proof rests on.

    Examples
    --------
    >>> verdict("proven", 0), verdict("proven", 2), verdict("not executed", 1)
    ('proven', 'proven, 2 assumed', 'not executed')
    """
    return f"{PROVEN}, {assumed} assumed" if outcome == PROVEN and assumed else outcome


def tally(proofs: Iterable[Executed]) -> dict[str, int]:
    """The numbers of proofs by outcome, proofs that rest on assumptions apart: all four words, in order."""
    counts = dict.fromkeys(COLOURS, 0)
    for proof in proofs:
        counts[proof.counted_as] += 1
    return counts


def tally_text(proofs: Iterable[Executed]) -> str:
    """The counts as a text: ``3 proven, 1 not executed``; ``none`` where there are no proofs."""
    return ", ".join(f"{count:,} {word}" for word, count in tally(proofs).items() if count) or "none"
