"""The events of an audit log whose fields have the types of audit.k8s.io; the others are counted.

kube-apiserver writes no others. They come from collectors that rewrite fields, and from files that are no audit logs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from simkit.meta.objects import Object


def well_typed(events: Iterable[Object]) -> Iterator[Object]:
    """The events whose fields have the right types. The others are left out, with one warning that counts them.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     list(well_typed([{"verb": "get", "user": ["ann"]}, {"verb": "get", "user": {"username": "ann"}}]))
    [{'verb': 'get', 'user': {'username': 'ann'}}]
    >>> print(told[0].message)
    1 event of an audit log was left out: a field has a wrong type, such as user
    """
    left_out, example = 0, ""
    for event in events:
        wrong = wrong_field(event)
        if wrong is None:
            yield event
        else:
            left_out, example = left_out + 1, example or wrong
    if left_out:
        what = "1 event of an audit log was" if left_out == 1 else f"{left_out} events of an audit log were"
        warnings.warn(f"{what} left out: a field has a wrong type, such as {example}", stacklevel=2)


def wrong_field(event: Object) -> str | None:
    """The first field of an event with a value of a wrong type, or None; empty values are right everywhere.

    Examples
    --------
    >>> wrong_field({"verb": "get", "user": {"username": "ann", "groups": [5]}})
    'user.groups'
    """
    return _wrong(event, _EVENT)


Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _is_text_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values())


def _is_extra(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_texts(item) for item in value.values())


def _wrong(value: Mapping[str, Any], fields: Mapping[str, Check | Mapping[str, Check]]) -> str | None:
    for name, check in fields.items():
        given = value.get(name)
        if not given:
            continue
        if callable(check):
            if not check(given):
                return name
        elif not isinstance(given, Mapping):
            return name
        elif (inner := _wrong(given, check)) is not None:
            return f"{name}.{inner}"
    return None


_USER: Final[Mapping[str, Check]] = {"username": _is_text, "uid": _is_text, "groups": _is_texts, "extra": _is_extra}
_REFERENCE: Final = ("resource", "namespace", "name", "uid", "apiGroup", "apiVersion", "resourceVersion", "subresource")
_EVENT: Final[Mapping[str, Check | Mapping[str, Check]]] = {
    **dict.fromkeys(("auditID", "stage", "verb", "requestURI", "userAgent"), _is_text),
    **dict.fromkeys(("requestReceivedTimestamp", "stageTimestamp"), _is_text),
    "user": _USER,
    "impersonatedUser": _USER,
    "objectRef": dict.fromkeys(_REFERENCE, _is_text),
    "responseStatus": {"code": _is_number},
    "annotations": _is_text_map,
    "sourceIPs": _is_texts,
}
"""The fields of an event that analyses read."""
