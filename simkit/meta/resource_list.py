"""Resource lists as exact amounts.

k8s.io/apiserver/pkg/quota/v1/resources.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.meta.quantity import NANO, Quantity, QuantityError, parse

ResourceList = Mapping[str, Quantity]
"""An amount for each name of a resource."""


def resource_list_of(values: Mapping[str, Any] | None) -> dict[str, Quantity]:
    """The amounts in a resource list; invalid ones are left out."""
    found: dict[str, Quantity] = {}
    for name, value in (values or {}).items():
        try:
            found[name] = parse(str(value))
        except QuantityError:
            continue
    return found


def quantity_texts(amounts: ResourceList) -> dict[str, str]:
    """The amounts as quantities in text."""
    return {name: str(amount) for name, amount in amounts.items()}


def count(number: int) -> Quantity:
    """A number of objects."""
    return Quantity(number * NANO)


def add(left: ResourceList, right: ResourceList) -> dict[str, Quantity]:
    """The sum, name by name, with the left one's suffixes for its names."""
    added = dict(left)
    for name, amount in right.items():
        present = added.get(name)
        added[name] = amount if present is None else _sum(present, amount, 1)
    return added


def subtract(left: ResourceList, right: ResourceList) -> dict[str, Quantity]:
    """The difference, name by name, negative if the right one is larger."""
    taken = dict(left)
    for name, amount in right.items():
        present = taken.get(name)
        taken[name] = _sum(present, amount, -1) if present is not None else Quantity(-amount.nano, amount.format)
    return taken


def _sum(left: Quantity, right: Quantity, sign: int) -> Quantity:
    return Quantity(left.nano + sign * right.nano, left.format if left.nano else right.format)


def maximum(left: ResourceList, right: ResourceList) -> dict[str, Quantity]:
    """The greater amount, name by name."""
    found = dict(left)
    for name, amount in right.items():
        if name not in found or amount.nano > found[name].nano:
            found[name] = amount
    return found
