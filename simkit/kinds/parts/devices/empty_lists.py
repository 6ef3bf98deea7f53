"""Lists of devices that are empty and not nil: validation and messages tell them from nil, the store does not."""

from __future__ import annotations

from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, without_empty
from simkit.meta.objects import Draft, Object


def without_empty_list(part: Object, name: str) -> Draft:
    """The spec or allocation of a claim without a list of its devices that is empty.

    Examples
    --------
    >>> without_empty_list({"devices": {"requests": []}}, "requests")
    {'devices': {}}
    """
    draft = dict(part)
    if "devices" in draft:
        without_empty(own_copy(draft, "devices"), (name,))
    return draft


def without_empty_requests(spec: Object) -> Draft:
    """The spec of a claim with null in place of an empty list of requests.

    Examples
    --------
    >>> without_empty_requests({"devices": {"requests": []}})
    {'devices': {'requests': None}}
    """
    draft = dict(spec)
    if "devices" in draft:
        null_where_empty(own_copy(draft, "devices"), "requests")
    return draft
