"""Comparison and merging of tolerations.

Upstream: pkg/util/tolerations, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Toleration = Mapping[str, Any]


def covers(wide: Toleration, narrow: Toleration) -> bool:
    """True if whatever the narrow one tolerates, the wide one tolerates too."""
    if wide == narrow:
        return True
    if wide.get("key", "") != narrow.get("key", "") and (wide.get("key") or wide.get("operator") != "Exists"):
        return False
    if wide.get("effect", "") != narrow.get("effect", "") and wide.get("effect"):
        return False
    if wide.get("effect") == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if wide.get("operator", "") in ("", "Equal"):
        same = narrow.get("operator", "") == wide.get("operator", "")
        return bool(same and narrow.get("value", "") == wide.get("value", ""))
    return wide.get("operator") == "Exists"


def merged(first: Sequence[Toleration], second: Sequence[Toleration]) -> list[Toleration]:
    """Both lists without tolerations that another one covers; of equal ones the first stays.

    Examples
    --------
    >>> merged([{"key": "a", "value": "b"}], [{"operator": "Exists"}])
    [{'operator': 'Exists'}]
    """
    everything, kept = [*first, *second], list[Toleration]()
    for index, one in enumerate(everything):
        later = [other for other in everything[index + 1 :] if other != one]
        if not any(covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


def all_within(tolerations: Sequence[Toleration], allowed: Sequence[Toleration]) -> bool:
    """True if each toleration is covered by an allowed one; nothing allowed means everything is."""
    return not allowed or all(any(covers(wide, one) for wide in allowed) for one in tolerations)
