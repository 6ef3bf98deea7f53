"""Work on objects one by one, where an error of one keeps no other from its turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simkit.meta.objects import Object


def one_by_one(objects: Iterable[Object], act: Callable[[Object], None]) -> None:
    """Do the same for each object. Raises the first error after all have had their turn, so that it is tried again."""
    first: Exception | None = None
    for obj in objects:
        try:
            act(obj)
        except Exception as error:
            first = first or error
    if first is not None:
        raise first
