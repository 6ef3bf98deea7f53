"""Objects that select others by labels, such as services and disruption budgets, looked up by what they select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from simkit.meta.labels import LabelSelector
from simkit.meta.objects import Object


class SelectorIndex:
    """Objects by a label that their selectors ask for.

    Parameters
    ----------
    objects
        Those with empty selectors are left out: they select nothing.
    selector_of
        Reads the selector of one.

    Notes
    -----
    A look costs O(labels, and the selectors that ask for one of them or for none in particular).

    Examples
    --------
    >>> from simkit.meta.labels import parse
    >>> index = SelectorIndex([{"kind": "a"}, {"kind": "b"}], lambda obj: parse(f"app={obj['kind']}"))
    >>> index.selecting({"app": "b", "tier": "x"})
    [{'kind': 'b'}]
    """

    def __init__(self, objects: Iterable[Object], selector_of: Callable[[Object], LabelSelector]) -> None:
        self._by_label: dict[tuple[str, str] | None, list[tuple[int, Object, LabelSelector]]] = {}
        for number, obj in enumerate(objects):
            selector = selector_of(obj)
            if selector:
                pair = next(iter(equalities(selector).items()), None)
                self._by_label.setdefault(pair, []).append((number, obj, selector))

    def selecting(self, labels: Mapping[str, str]) -> list[Object]:
        """The objects that select something with these labels, in their order."""
        if not self._by_label:
            return []
        pairs = [None, *(pair for pair in labels.items() if isinstance(pair[1], str))]
        asked = (each for pair in pairs for each in self._by_label.get(pair, ()))
        found = {number: obj for number, obj, selector in asked if selector.matches(labels)}
        return [found[number] for number in sorted(found)]


def equalities(selector: LabelSelector) -> dict[str, str]:
    """The labels that whatever is selected must have with one value.

    Examples
    --------
    >>> from simkit.meta.labels import parse
    >>> equalities(parse("a=b,c in (d),e!=f,g in (h,i)"))
    {'a': 'b', 'c': 'd'}
    """
    wanted = (each for each in selector.requirements if each.operator == "in" and len(each.values) == 1)
    return {each.key: each.values[0] for each in wanted if isinstance(each.values[0], str)}
