"""Validation of single fields: bounded numbers, immutable fields, names; and of lists of conditions.

Follows ``generic.go`` of ``k8s.io/apimachinery/pkg/api/validation``, ``pkg/util/validation/validation.go`` and
``pkg/apis/meta/v1/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import number_or_text, texts
from simkit.kinds.rules import FIXED, REQUIRED, Check, by, distinct, first, items, must, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, invalid_value, quoted, required, too_long
from simkit.meta.integers import saturating_int
from simkit.meta.name_validation import dns_label, dns_subdomain, qualified_name
from simkit.meta.objects import Object
from simkit.meta.wording import Text, Worded, joined

_WILDCARD: Final = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def validate_nonnegative(path: str, number: int | None) -> Errors:
    """The error of a negative number."""
    if number is not None and number < 0:
        yield invalid_value(path, number, "must be greater than or equal to 0")


def validate_immutable_field(path: str, now: Any, before: Any) -> Errors:
    """The error of a changed immutable field."""
    if now != before:
        yield invalid_value(path, now, FIXED)


def validate_text(path: str, text: str, rule: Callable[[str], Sequence[Text]]) -> Errors:
    """The errors of a text with a format."""
    return (invalid_value(path, text, why) for why in rule(text))


def alone(words: str, kind: str = "string") -> Check:
    """The check of a list in which a wildcard stands without other values."""
    detail = f"if '*' is present, must not specify other {words}"
    return must.hold(lambda values: len(values) == 1 or "*" not in values, detail, partial(texts, kind=kind))


def wildcard_subdomain(name: str) -> Sequence[str]:
    """The errors of a host that begins with ``*.``."""
    wrong = [] if len(name) <= 253 else ["must be no more than 253 characters"]
    if not _WILDCARD.fullmatch(name):
        wrong.append(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. "
            "'*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?"
            "(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
    return wrong


def validate_qualified_domain(path: str, name: str) -> Errors:
    """The errors of a fully qualified domain name, perhaps with a trailing dot."""
    if not name:
        yield required(path)
        return
    name = name.removesuffix(".")
    wrong = dns_subdomain(name)
    if wrong:
        yield invalid_value(path, name, ",".join(wrong))
    elif "." not in name:
        yield invalid_value(path, name, "should be a domain with at least two segments separated by dots")
    else:
        found = next((part for part in name.split(".") if dns_label(part)), None)
        if found is not None:
            yield invalid_value(path, found, joined(",", dns_label(found)))


def _validate_domain_path(behaviour: ServedBehaviour, path: str, text: str) -> Errors:
    host, _, rest = text.partition("/")
    if not host or not rest:
        yield invalid_value(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from (invalid_value(path, host, why) for why in dns_subdomain(host))
    if not _PATH.fullmatch(rest):
        yield invalid_value(path, rest, f"Invalid path (regex used for validation is '{_PATH.pattern}')")


DOMAIN_PATH: Final = first(REQUIRED, by(_validate_domain_path))
"""The check of a path under a domain, such as ``example.com/name``."""
_PERCENT: Final = re.compile("[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def validate_int_or_percent(behaviour: ServedBehaviour, path: str, value: int | str) -> Errors:
    """The errors of a number or percentage of pods."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield invalid_value(path, number_or_text(value), _PERCENT_RULE)
    else:
        yield from validate_nonnegative(path, value)


def validate_at_most_100_percent(behaviour: ServedBehaviour, path: str, value: int | str) -> Errors:
    """The error of a percentage above 100."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and (saturating_int(value[:-1]) or 0) > 100:
        yield invalid_value(path, number_or_text(value), "must not be greater than 100%")


def int_or_percent_value(value: int | str) -> int:
    """The value of a number or percentage; zero for any other text.

    Examples
    --------
    >>> int_or_percent_value("25%"), int_or_percent_value(3), int_or_percent_value("-5%")
    (25, 3, 0)
    """
    if not isinstance(value, str):
        return value
    return saturating_int(value[:-1] if _PERCENT.fullmatch(value) else value) or 0


def repeats(values: Iterable[Hashable]) -> frozenset[int]:
    """The positions of values that are equal to one before them.

    Examples
    --------
    >>> sorted(repeats(["a", "b", "a", "a"]))
    [2, 3]
    """
    seen: set[Hashable] = set()
    found: set[int] = set()
    for index, value in enumerate(values):
        if value in seen:
            found.add(index)
        seen.add(value)
    return frozenset(found)


LARGEST: Final = 1024 * 1024
"""The most bytes of data in one object."""

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def validate_key(behaviour: ServedBehaviour, path: str, key: str) -> list[FieldError]:
    """The errors of a key, which must be valid as a file name."""
    if key[:1] != "." and len(key) <= 253 and _KEY.fullmatch(key):
        return []
    return [invalid_value(path, key, text) for text in key_texts(key)]


def key_texts(key: str) -> list[str]:
    """The errors of a key, as sentences."""
    wrong = [] if len(key) <= 253 else ["must be no more than 253 characters"]
    if not _KEY.fullmatch(key):
        wrong.append(_RULE)
    if key == ".":
        wrong.append("must not be '.'")
    elif key == "..":
        wrong.append("must not be '..'")
    elif key.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


_LONGEST_DOMAIN: Final = 253
_LONGEST: Final = _LONGEST_DOMAIN + 1 + 253 + 63 + 1


def _validate_signer(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
    domain, _, rest = name.partition("/")
    if name.count("/") != 1:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid_value(path, name, text)
        return
    if len(domain) > _LONGEST_DOMAIN:
        yield too_long(path, _LONGEST_DOMAIN)
    yield from _first_label(path, domain, dns_label)
    if "." not in domain:
        yield invalid_value(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_label(path, rest, dns_subdomain)
    if len(name) > _LONGEST:
        yield too_long(path, _LONGEST)


def _first_label(path: str, text: str, rule: Callable[[str], Sequence[Text]]) -> list[FieldError]:
    """The errors of the first part between dots that has any."""
    wrong = next(((part, rule(part)) for part in text.split(".") if rule(part)), ("", ()))
    told = f"validating label {quoted(wrong[0])}"
    return [invalid_value(path, text, joined(": ", (told, why))) for why in wrong[1]]


SIGNER: Final = first(REQUIRED, by(_validate_signer))
"""The check of the name of a signer."""
NO_BACKSTEPS: Final = must.hold(lambda path: ".." not in path.split("/"), "must not contain '..'")
ABSOLUTE: Final = must.hold(lambda path: path.startswith("/"), "must be an absolute path")
DESCENDING: Final = table(must.hold(lambda path: not path.startswith("/"), "must be a relative path"), NO_BACKSTEPS)
"""The check of a path that is neither absolute nor has ``..``."""
FILE: Final = table(
    DESCENDING,
    must.hold(lambda path: not path.startswith("..") or path.startswith("../"), "must not start with '..'"),
)
"""The check of a file path in a volume, where names may not begin with two dots."""
MODE: Final = must.be_between(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")


_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  "
    "or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)


_MUST_BE_SET: Final = must.be_given(Worded("required-values-told-alone", "", "must be set"))


def conditions(stamp: str = "lastTransitionTime") -> Check:
    """The check of a list of conditions. One without the time in the field ``stamp`` lacks its ``lastTransitionTime``,
    as kube-apiserver calls it."""
    return items(
        distinct("type"),
        row("type", must.be(qualified_name), zero=""),
        row("status", must.be_one_of("False", "True", "Unknown"), zero=""),
        row("observedGeneration", must.hold(lambda number: number >= 0, "must be greater than or equal to zero")),
        row(stamp, _MUST_BE_SET, told="lastTransitionTime"),
        row("reason", _MUST_BE_SET, must.hold(_REASON.fullmatch, _REASON_RULE)),
        row("reason", must.be_no_longer_than(1024)),
        row("message", must.be_no_longer_than(32768)),
    )


CONDITIONS: Final = conditions()


def shown_conditions(conditions: Sequence[Object]) -> list[Object]:
    """Conditions in the order of their fields, with those that their JSON always has."""
    return [_shown(condition) for condition in conditions]


def _shown(condition: Object) -> Object:
    seen = {"observedGeneration": condition["observedGeneration"]} if condition.get("observedGeneration") else {}
    head = {name: condition.get(name) or "" for name in ("type", "status")}
    tail = {name: condition.get(name) or "" for name in ("reason", "message")}
    return {**head, **seen, "lastTransitionTime": condition.get("lastTransitionTime"), **tail}


def status_of(obj: Object, kind: str) -> Object | None:
    """The condition of some type in an object's status, or None."""
    conditions: Sequence[Object] = (obj.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == kind), None)
