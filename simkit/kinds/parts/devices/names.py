"""Checks of names of drivers, pools, devices and attributes, of opaque parameters, and of lists and maps of devices.

Follows ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.rules import REQUIRED, Check, by, first, items, must, placed, row, table
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, duplicate, invalid_value, too_long, too_many
from simkit.meta.name_validation import dns_label, dns_subdomain

LONGEST_QUALIFIED: Final = 63 + 1 + 32
"""Bytes of a name with a domain."""
_DOTS: Final = "..."
_LONGEST_PARAMETERS: Final = 10 * 1024
_LONGEST_POOL: Final = must.be_no_longer_than(253)
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_RULE: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)
LABEL: Final = must.be(dns_label)
SUBDOMAIN: Final = must.be(dns_subdomain)
NAME: Final = row("name", LABEL, zero="")
TRUE: Final = must.hold(lambda flag: flag, "must be either unset or set to true")


def list_of(most: int, check: Check) -> Check:
    """The check of each item of a list, or the one error of a list that is too long."""
    each = items(check)

    def validate(behaviour: ServedBehaviour, values: Sequence[Any]) -> Sequence[FieldError]:
        several = [too_many("", len(values), most)] if len(values) > most else []
        if several and behaviour.applies("long-lists-of-devices-unread"):
            return several
        return [*each(behaviour, values), *several]

    return validate


def set_of(most: int, check: Check, key: Callable[[Any], Hashable] = str, named: str = "") -> Check:
    """The same of a list whose items have different keys; ``named`` is the field of the key."""
    listed = list_of(most, check)

    def validate(behaviour: ServedBehaviour, values: Sequence[Any]) -> Sequence[FieldError]:
        errors = [*listed(behaviour, values)]
        if len(values) > most and behaviour.applies("long-lists-of-devices-unread"):
            return errors
        below = f".{named}" if named and not behaviour.applies("duplicate-devices-told-at-their-item") else ""
        keys = [*map(key, values)]
        return errors + [duplicate(f"[{index}]{below}", keys[index]) for index in sorted(repeats(keys))]

    return validate


def field_of(name: str) -> Callable[[Any], str]:
    """The key of items that have it in a field."""
    return lambda item: item.get(name) or ""


def map_of(longest: int, check_key: Check, check: Check) -> Check:
    """The check of each key and value of a map. Keys of more than ``longest`` bytes are shown without their middle."""

    def validate(behaviour: ServedBehaviour, values: Mapping[str, Any]) -> Sequence[FieldError]:
        found: list[FieldError] = []
        for key, value in sorted(values.items()):
            here = f"[{_shortened(key, longest)}]"
            place = "" if behaviour.applies("device-keys-told-at-their-map") else here
            found += placed(place, check_key(behaviour, key))
            found += placed(here, check(behaviour, value))
        return found

    return validate


def _shortened(key: str, longest: int) -> str:
    left = longest - len(_DOTS)
    return key if len(key) <= longest else f"{key[: (left + 1) // 2]}{_DOTS}{key[len(key) - left // 2 :]}"


def _validate_parts(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    return (invalid_value(path, part, text) for part in name.split("/") for text in dns_subdomain(part))


POOL: Final = first(REQUIRED, table(_LONGEST_POOL, by(_validate_parts)))
"""The check of the name of a pool: domains with slashes in between."""


def _validate_segments(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    for index, part in enumerate(name.split("/")):
        texts = dns_subdomain(part) if part else ("must not be empty",)
        yield from (invalid_value(path, part, f"segment {index}: {_in_bytes(text)}") for text in texts)


def _in_bytes(text: str) -> str:
    """The text of a rule in the words of declared formats, which count bytes."""
    return text.replace(" characters", " bytes") if text.startswith("must be no more than") else text


POOL_IN_SEGMENTS: Final = table(_LONGEST_POOL, by(_validate_segments))
"""The check of the name of a pool in the words of declared formats, which number its parts."""
_NAME_PART: Final = table(
    must.be_no_longer_than(32), must.hold(lambda name: re.fullmatch(_IDENTIFIER, name), _IDENTIFIER_RULE)
)
_DOMAIN: Final = first(must.hold(lambda domain: domain, "the domain must not be empty"), DRIVER)
_OF_DOMAIN: Final = first(must.hold(lambda name: name, "the name must not be empty"), _NAME_PART)


def qualified(behaviour: ServedBehaviour, name: str) -> Sequence[FieldError]:
    """The errors of the name of an attribute or capacity, with or without a domain."""
    domain, *rest = name.split("/")
    if not rest:
        return _NAME_PART(behaviour, name)
    return [*_DOMAIN(behaviour, domain), *_OF_DOMAIN(behaviour, rest[0])] if len(rest) == 1 else ()


def _has_domain(name: str) -> bool:
    return "/" in name


FULLY_QUALIFIED: Final = table(
    qualified,
    row(
        "",
        must.hold(_has_domain, "a fully qualified name must be a domain and a name separated by a slash"),
        since="words-for-a-missing-domain",
    ),
    row(
        "",
        must.hold(lambda name: not name or _has_domain(name), "must include a domain"),
        until="words-for-a-missing-domain",
    ),
)
"""The check of a name that needs a domain."""


def _validate_raw(behaviour: ServedBehaviour, path: str, value: Any) -> Errors:
    if len(go_json.encode(value)) > _LONGEST_PARAMETERS:
        yield too_long(path, _LONGEST_PARAMETERS)
    elif not isinstance(value, Mapping):
        yield invalid_value(path, "<value omitted>", "must be a valid JSON object")


RAW: Final = by(_validate_raw)
"""The check of an object of any kind that only others read."""
OPAQUE: Final = row(
    "opaque",
    must.be_given(pointer=True),
    row("driver", DRIVER, zero=""),
    row("parameters", must.be_given(pointer=True), RAW),
)
"""The check of a configuration: the parameters for some driver."""
