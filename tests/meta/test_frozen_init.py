"""Frozen dataclasses with a constructor that assigns."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field, replace

from simkit.meta.frozen_init import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Parcel:
    """Something with all kinds of fields."""

    to: str
    weight: int = 1
    stamps: list[str] = field(default_factory=list)
    size: int = field(init=False, default=0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 10 * self.weight)


def test_it_is_made_as_any_dataclass() -> None:
    """Defaults, factories, fields without an argument and what is done after them."""
    one, other = Parcel("ann", stamps=["a"]), Parcel("ann")
    assert (one.to, one.weight, one.stamps, one.size) == ("ann", 1, ["a"], 10)
    assert other.stamps == []
    assert other.stamps is not Parcel("ann").stamps


def test_it_compares_copies_and_replaces() -> None:
    """What dataclasses can do is left as it was."""
    one = Parcel("ann", 2)
    assert one == Parcel("ann", 2) != Parcel("bob", 2)
    assert replace(one, to="bob") == Parcel("bob", 2)
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "Parcel(to='ann', weight=2, stamps=[], size=20)"
