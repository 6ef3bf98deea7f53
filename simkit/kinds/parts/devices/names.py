"""Validation of names of drivers, pools, devices and attributes, and of opaque parameters.

Follows ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds import rules
from simkit.kinds.parts.pod.validation.volumes import validate_driver
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.rules import placed
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, too_long, too_many
from simkit.meta.name_validation import dns_subdomain

_LONGEST_POOL: Final = 253
_LONGEST_IDENTIFIER: Final = 32
_LONGEST_DOMAIN: Final = 63
LONGEST_QUALIFIED: Final = _LONGEST_DOMAIN + 1 + _LONGEST_IDENTIFIER
"""Bytes of a name with a domain."""
_DOTS: Final = "..."
_LONGEST_PARAMETERS: Final = 10 * 1024
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_RULE: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)

Check = Callable[[ServedBehaviour, str, Any], Iterator[FieldError]]


def told_at(rule: rules.Check) -> Check:
    """The function of a path and a value that a table is."""
    return lambda behaviour, path, value: iter(placed(path, rule(behaviour, value)))


def validate_each(
    behaviour: ServedBehaviour, path: str, items: Sequence[Any], most: int, check: Check
) -> Iterator[FieldError]:
    """The errors of each item of a list, or the one error of a list that is too long."""
    several = 0 <= most < len(items)
    if several and behaviour.applies("long-lists-of-devices-unread"):
        yield too_many(path, len(items), most)
        return
    for index, item in enumerate(items):
        yield from check(behaviour, f"{path}[{index}]", item)
    if several:
        yield too_many(path, len(items), most)


def validate_set(
    behaviour: ServedBehaviour,
    path: str,
    items: Sequence[Any],
    most: int,
    check: Check,
    key: Callable[[Any], Hashable],
    named: str = "",
) -> Iterator[FieldError]:
    """The same of a list whose items have different keys; ``named`` is the field of the key."""
    yield from validate_each(behaviour, path, items, most, check)
    if 0 <= most < len(items) and behaviour.applies("long-lists-of-devices-unread"):
        return
    below = f".{named}" if named and not behaviour.applies("duplicate-devices-told-at-their-item") else ""
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            yield duplicate(f"{path}[{index}]{below}", key(item))
        seen.add(key(item))


def validate_map(
    behaviour: ServedBehaviour,
    path: str,
    values: Mapping[str, Any],
    most: int,
    longest: int,
    check_key: Check,
    check: Check,
) -> Iterator[FieldError]:
    """The errors of each key and value of a map, or the one error of a map that is too large.

    Keys of more than ``longest`` bytes are shown without their middle.
    """
    if 0 <= most < len(values):
        yield too_many(path, len(values), most)
        return
    for key, value in sorted(values.items()):
        here = f"{path}[{_shortened(key, longest)}]"
        yield from check_key(behaviour, path if behaviour.applies("device-keys-told-at-their-map") else here, key)
        yield from check(behaviour, here, value)


def _shortened(key: str, longest: int) -> str:
    left = longest - len(_DOTS)
    return key if len(key) <= longest else f"{key[: (left + 1) // 2]}{_DOTS}{key[len(key) - left // 2 :]}"


def validate_pool_name(behaviour: ServedBehaviour, path: str, name: str) -> Iterator[FieldError]:
    """The errors of the name of a pool: domains with slashes in between."""
    if not name:
        yield required(path)
        return
    if len(name) > _LONGEST_POOL:
        yield too_long(path, _LONGEST_POOL)
    for part in name.split("/"):
        yield from validate_text(path, part, dns_subdomain)


def validate_pool_parts(behaviour: ServedBehaviour, path: str, name: str) -> Iterator[FieldError]:
    """The errors of the name of a pool in the words of declared formats, which number its parts."""
    if len(name) > _LONGEST_POOL:
        yield too_long(path, _LONGEST_POOL)
    for index, part in enumerate(name.split("/")):
        texts = dns_subdomain(part) if part else ("must not be empty",)
        yield from (invalid_value(path, part, f"segment {index}: {_in_bytes(text)}") for text in texts)


def _in_bytes(text: str) -> str:
    """The text of a rule in the words of declared formats, which count bytes."""
    return text.replace(" characters", " bytes") if text.startswith("must be no more than") else text


def validate_qualified(behaviour: ServedBehaviour, path: str, name: str) -> Iterator[FieldError]:
    """The errors of the name of an attribute or capacity, with or without a domain."""
    parts = name.split("/")
    if len(parts) == 1:
        yield from validate_identifier(path, name)
    if len(parts) != 2:
        return
    if not parts[0]:
        yield invalid_value(path, "", "the domain must not be empty")
    else:
        yield from validate_driver(behaviour, path, parts[0])
    if not parts[1]:
        yield invalid_value(path, "", "the name must not be empty")
    else:
        yield from validate_identifier(path, parts[1])


def validate_fully_qualified(behaviour: ServedBehaviour, path: str, name: str) -> Iterator[FieldError]:
    """The same of a name that needs a domain."""
    yield from validate_qualified(behaviour, path, name)
    if "/" not in name and behaviour.applies("words-for-a-missing-domain"):
        yield invalid_value(path, name, "a fully qualified name must be a domain and a name separated by a slash")
    elif name and "/" not in name:
        yield invalid_value(path, name, "must include a domain")


def validate_identifier(path: str, name: str) -> Iterator[FieldError]:
    if len(name) > _LONGEST_IDENTIFIER:
        yield too_long(path, _LONGEST_IDENTIFIER)
    if not re.fullmatch(_IDENTIFIER, name):
        yield invalid_value(path, name, _IDENTIFIER_RULE)


def validate_opaque(behaviour: ServedBehaviour, path: str, config: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of a configuration: the parameters for some driver."""
    opaque = config.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from validate_driver(behaviour, f"{path}.opaque.driver", opaque.get("driver") or "")
    yield from validate_raw(f"{path}.opaque.parameters", opaque.get("parameters"))


def validate_raw(path: str, value: Any) -> Iterator[FieldError]:
    """The errors of an object of any kind that only others read."""
    if value is None:
        yield required(path)
    elif len(go_json.encode(value)) > _LONGEST_PARAMETERS:
        yield too_long(path, _LONGEST_PARAMETERS)
    elif not isinstance(value, Mapping):
        yield invalid_value(path, "<value omitted>", "must be a valid JSON object")
