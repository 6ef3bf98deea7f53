"""Validation of values against an OpenAPI schema, with the order and messages of kube-openapi.

Each level is compiled once into a function. An update is ratcheted: a value that is as it was before is not told of,
however wrong it is, where the old value can be found: by name, or by key in a list with keys. Other lists are taken as
a whole.

Follows ``k8s.io/kube-openapi/pkg/validation/validate``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import orjson

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError
from simkit.meta.go_json import compact
from simkit.meta.linear_patterns import re2_module
from simkit.meta.wording import Text
from simkit.schema.custom import messages
from simkit.schema.custom.formats import checked_format, format_named, is_whole, number_errors

Errors = list[FieldError]


class _Absent:
    """An old value that does not exist or cannot be found."""


ABSENT: Final[Any] = _Absent()


def same(one: Any, other: Any) -> bool:
    """True if two JSON values are equal; integers, floats and bools are different."""
    return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)


def _equal(value: Any, listed: Any) -> bool:
    """True if a value equals one of an enumeration; where that is an integer, a fraction is truncated first."""
    if isinstance(value, float) and type(listed) is int and abs(value) < 2**63:
        return int(value) == listed
    return same(value, listed)


class Check:
    """One level of a schema, compiled for checking values.

    Parameters
    ----------
    all_formats
        Whether formats that no check of custom resources knows are told about too, as in the check of defaults.

    Examples
    --------
    >>> from simkit.schema.behaviour import default_behaviour
    >>> behaviour = default_behaviour("1.30")
    >>> properties = {"a": {"type": "integer", "minimum": 2}}
    >>> check = Check(behaviour, {"type": "object", "required": ["a"], "properties": properties})
    >>> [str(error.told(behaviour)) for error in check.errors({"a": 1})]
    ['a: Invalid value: 1: a in body should be greater than or equal to 2']
    """

    def __init__(self, behaviour: ServedBehaviour, properties: Mapping[str, Any], *, all_formats: bool = False) -> None:
        self._behaviour, self._properties, self._all_formats = behaviour, properties, all_formats
        self._types = _types_of(properties)
        self._format: str = properties.get("format") or ""
        self._nullable = bool(properties.get("nullable"))
        self._enum: tuple[Any, ...] = tuple(properties.get("enum") or ())
        self._texts = frozenset(compact(orjson.dumps(each)) for each in self._enum)

    def errors(self, value: Any, old: Any = ABSENT, *, under: str = "") -> Errors:
        """All errors of a value, in order.

        Parameters
        ----------
        old
            The value before an update.
        under
            A field that the value is the content of; errors are placed there, their texts do not name it.
        """
        found: Errors = []
        self.run(value, "", old, found)
        if not under:
            return found
        return [
            FieldError(each.kind, under if each.field == messages.NOWHERE else f"{under}.{each.field}", *_rest(each))
            for each in found
        ]

    def run(self, value: Any, path: str, old: Any, errors: Errors) -> int:
        """Append the errors of a value to ``errors``; returns the number of checks, by which alternatives compete."""
        mine: Errors = []
        count = self._null(path, mine) if value is None else self._present(value, path, old, mine)
        if mine and (old is ABSENT or not same(value, old)):
            errors += mine
        return count

    def _null(self, path: str, errors: Errors) -> int:
        if self._types and not self._nullable:
            errors.append(messages.mistyped(path, ",".join(self._types), "null"))
        if self._enum and None not in self._enum:
            errors.append(messages.not_listed(path, None, self._enum))
        return 0

    def _present(self, value: Any, path: str, old: Any, errors: Errors) -> int:
        count = 2
        if self._types or self._format:
            count += 1
            self._check_type(value, path, errors)
        if self._junctors:
            count += self._combined(value, path, old, errors) + 1
        if isinstance(value, str):
            count += 1 + self._check_text(value, path, errors)
        elif isinstance(value, dict):
            count += 1 + self._check_object(value, path, old, errors)
        elif isinstance(value, list):
            count += 1 + self._check_array(value, path, old, errors)
        elif not isinstance(value, bool):
            count += 1
            errors += number_errors(self._behaviour, self._properties, self._types, self._form(), value, path)
        if self._enum:
            count += 1
            if orjson.dumps(value) not in self._texts and not any(_equal(value, each) for each in self._enum):
                self._insert_enum(value, path, errors)
        return count

    def _insert_enum(self, value: Any, path: str, errors: Errors) -> None:
        errors.append(messages.not_listed(path, value, self._enum))

    def _below(self, properties: Mapping[str, Any]) -> Check:
        return Check(self._behaviour, properties, all_formats=self._all_formats)

    # Types

    def _form(self) -> str:
        """The format, where the release that answers checks it."""
        return (
            self._format
            if self._all_formats or not self._format
            else checked_format(self._behaviour, self._types, self._format)
        )

    def _check_type(self, value: Any, path: str, errors: Errors) -> None:
        types, form, found = self._types, self._form(), messages.type_name(value)
        whole = found == "number" and "integer" in types and is_whole(float(value))
        fits = found in types or whole or (found == "integer" and "number" in types)
        textual = isinstance(value, str | list)
        if form and not textual and not fits:
            own = {"integer": "int64", "number": "float64"}.get(found, "")
            if own != form:
                errors.append(messages.mistyped(path, form, own))
                return
        if form and textual and not {"number", "integer"} & set(types):
            return
        if types and not fits:
            errors.append(messages.mistyped(path, ",".join(types), found))

    # Alternatives

    @cached_property
    def _junctors(self) -> Mapping[str, tuple[Check, ...]]:
        found: dict[str, tuple[Check, ...]] = {}
        for name in ("anyOf", "oneOf", "allOf"):
            inner = self._properties.get(name)
            if inner:
                found[name] = tuple(map(self._below, inner))
        if self._properties.get("not") is not None:
            found["not"] = (self._below(self._properties["not"]),)
        return found

    def _combined(self, value: Any, path: str, old: Any, errors: Errors) -> int:
        count = 1
        for name, checks in self._junctors.items():
            count += _JUNCTORS[name](checks, value, path, old, errors)
        return count

    # Texts and numbers

    @cached_property
    def _pattern(self) -> Callable[[str], bool] | None:
        """The predicate for texts that match; an invalid pattern, possible in old definitions, matches nothing."""
        pattern = self._properties.get("pattern")
        if not pattern:
            return None
        re2 = re2_module()
        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(pattern, options)
        except re2.error:
            return _never
        return lambda text: compiled.search(text) is not None

    def _check_text(self, value: str, path: str, errors: Errors) -> bool:
        """Append the errors of a text; True if its format was checked too."""
        self._check_length(value, path, errors)
        form = self._form()
        check = format_named(self._behaviour, form) if form else None
        if check is not None and not check(value):
            errors.append(messages.mistyped(path, form, "", value))
        return check is not None

    def _check_length(self, value: str, path: str, errors: Errors) -> None:
        longest, shortest = self._properties.get("maxLength"), self._properties.get("minLength")
        if longest is not None and len(value) > longest:
            errors.append(messages.too_long_for(path, longest))
        elif shortest is not None and len(value) < shortest:
            errors.append(messages.against(path, value, f"should be at least {shortest} chars long"))
        elif self._pattern is not None and not self._pattern(value):
            errors.append(messages.against(path, value, f"should match '{self._properties['pattern']}'"))

    # Objects and arrays

    @cached_property
    def _fields(self) -> Mapping[str, Check]:
        return {name: self._below(inner) for name, inner in (self._properties.get("properties") or {}).items()}

    @cached_property
    def _values(self) -> Check | None:
        inner = self._properties.get("additionalProperties")
        return self._below(inner) if isinstance(inner, Mapping) else None

    @cached_property
    def _items(self) -> Check | None:
        inner = self._properties.get("items")
        return self._below(inner) if isinstance(inner, Mapping) else None

    def _check_object(self, value: dict[str, Any], path: str, old: Any, errors: Errors) -> int:
        least, most = self._properties.get("minProperties"), self._properties.get("maxProperties")
        wrong = len(errors)
        if least is not None and len(value) < least:
            errors.append(messages.against(path, len(value), f"should have at least {least} properties"))
        if most is not None and len(value) > most:
            errors.append(messages.too_many_in(path, len(value), most))
        if len(errors) > wrong and not self._behaviour.applies("fields-of-large-objects-checked"):
            return 0
        before: Mapping[str, Any] = old if isinstance(old, dict) else {}
        start, count = f"{path}." if path else "", 0
        fields, values = self._fields, self._values
        if values is not None:
            for name, item in value.items():
                if name not in fields:
                    count += values.run(item, start + name, before.get(name, ABSENT), errors) + 1
        for name, check in fields.items():
            if name in value:
                count += check.run(value[name], start + name, before.get(name, ABSENT), errors) + 1
        for name in self._properties.get("required") or ():
            if name not in value:
                errors.append(messages.lacking(start + name))
        return count

    def _check_array(self, value: list[Any], path: str, old: Any, errors: Errors) -> int:
        count = 0
        if self._items is not None:
            find = self._correlated(old)
            for index, item in enumerate(value):
                count += self._items.run(item, f"{path}[{index}]", find(item), errors) + 1
        least, most = self._properties.get("minItems"), self._properties.get("maxItems")
        if least is not None and len(value) < least:
            errors.append(messages.against(path, len(value), f"should have at least {least} items"))
        if most is not None and len(value) > most:
            errors.append(messages.too_many_in(path, len(value), most))
        return count

    def _correlated(self, old: Any) -> Callable[[Any], Any]:
        """A function that finds the old value of an element."""
        if not isinstance(old, list) or self._properties.get("x-kubernetes-list-type") != "map":
            return _nowhere
        keys = tuple(self._properties.get("x-kubernetes-list-map-keys") or ())
        by_key = keyed(old, keys, self._key_defaults)
        return lambda item: by_key.get(key_of(item, keys, self._key_defaults), ABSENT)

    @cached_property
    def _key_defaults(self) -> Mapping[str, Any]:
        fields = (self._properties.get("items") or {}).get("properties") or {}
        return {name: inner["default"] for name, inner in fields.items() if inner.get("default") is not None}


def _never(text: str) -> bool:
    return False


def _nowhere(item: Any) -> Any:
    return ABSENT


def keyed(elements: list[Any], keys: tuple[str, ...], defaults: Mapping[str, Any]) -> dict[Any, Any]:
    """The elements of a keyed list by key; the first of equal ones."""
    found: dict[Any, Any] = {}
    for element in elements:
        key = key_of(element, keys, defaults)
        if key is not None:
            found.setdefault(key, element)
    return found


def key_of(element: Any, keys: tuple[str, ...], defaults: Mapping[str, Any]) -> Any:
    """The key of an element of a keyed list; None if the element is no object."""
    if not isinstance(element, Mapping):
        return None
    return orjson.dumps([element.get(name, defaults.get(name)) for name in keys])


def _types_of(properties: Mapping[str, Any]) -> tuple[str, ...]:
    if properties.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    kind = properties.get("type")
    return (kind,) if kind else ()


def _rest(error: FieldError) -> tuple[Any, Text]:
    return error.value, error.detail


# Combinations of schemas


def _any_of(checks: tuple[Check, ...], value: Any, path: str, old: Any, errors: Errors) -> int:
    best: tuple[int, Errors] | None = None
    for check in checks:
        found: Errors = []
        count = check.run(value, path, old, found)
        if not found:
            return count
        if best is None or count > best[0]:
            best = (count, found)
    errors.append(messages.as_a_whole(f'"{path}" must validate at least one schema (anyOf)'))
    assert best is not None
    errors += best[1]
    return best[0]


def _one_of(checks: tuple[Check, ...], value: Any, path: str, old: Any, errors: Errors) -> int:
    best: tuple[int, Errors] | None = None
    valid, first = 0, 0
    for check in checks:
        found: Errors = []
        count = check.run(value, path, old, found)
        if not found:
            valid, first = valid + 1, first or count
        elif best is None or count > best[0]:
            best = (count, found)
    if valid == 1:
        return first
    told = f"Found {valid} valid alternatives" if valid else "Found none valid"
    errors.append(messages.as_a_whole(f'"{path}" must validate one and only one schema (oneOf). {told}'))
    if not valid and best is not None:
        errors += best[1]
        return best[0]
    return 0


def _all_of(checks: tuple[Check, ...], value: Any, path: str, old: Any, errors: Errors) -> int:
    valid, count = 0, 0
    for check in checks:
        found: Errors = []
        count += check.run(value, path, old, found)
        valid += not found
        errors += found
    if valid != len(checks):
        none = "" if valid else ". None validated"
        errors.append(messages.as_a_whole(f'"{path}" must validate all the schemas (allOf){none}'))
    return count


def _not(checks: tuple[Check, ...], value: Any, path: str, old: Any, errors: Errors) -> int:
    found: Errors = []
    checks[0].run(value, path, old, found)
    if not found:
        errors.append(messages.as_a_whole(f'"{path}" must not validate the schema (not)'))
    return 0


_JUNCTORS: Final[Mapping[str, Callable[[tuple[Check, ...], Any, str, Any, Errors], int]]] = {
    "anyOf": _any_of,
    "oneOf": _one_of,
    "allOf": _all_of,
    "not": _not,
}
