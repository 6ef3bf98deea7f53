"""Label selectors: the text form of query parameters and the structured form of objects.

Follows ``k8s.io/apimachinery/pkg/labels/selector.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.bounded_cache import cached_when_short
from simkit.meta.deadline import check_deadline
from simkit.meta.fielderror import FieldError, aggregate_errors, invalid_value
from simkit.meta.integers import parse_int
from simkit.meta.name_validation import is_label_value, is_qualified_name, label_value, qualified_name
from simkit.meta.wording import joined

Labels = Mapping[str, str]


class BadSelector(ValueError):
    """A selector that cannot be parsed. ``told`` is kube-apiserver's text, in the words of a release."""

    def __init__(self, told: str | Callable[[ServedBehaviour], str]) -> None:
        super().__init__(told)
        self._told = told

    def told(self, behaviour: ServedBehaviour) -> str:
        return self._told if isinstance(self._told, str) else self._told(behaviour)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition. ``operator`` is in, notin, exists, !, gt or lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """True if the labels match; ``notin`` also matches labels without the key."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        left, right = parse_int(value), parse_int(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator == "gt" else left < right


class _Conditions:
    """Requirements by key. However many there are, an object is asked about no more labels than it has.

    Those that an object without the label fails are looked up one after the other, until one of them fails; of the
    others only those count whose label the object has.
    """

    __slots__ = ("_absent", "_allowed", "_compared", "_forbidden", "_present")

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self._allowed: dict[str, frozenset[str]] = {}
        forbidden: dict[str, set[str]] = {}
        for each in requirements:
            if each.operator == "in":
                values = frozenset(each.values)
                self._allowed[each.key] = self._allowed.get(each.key, values) & values
            elif each.operator == "notin":
                forbidden.setdefault(each.key, set()).update(each.values)
        self._forbidden = forbidden
        self._present = frozenset(each.key for each in requirements if each.operator == "exists")
        self._absent = frozenset(each.key for each in requirements if each.operator == "!")
        self._compared = [each for each in dict.fromkeys(requirements) if each.operator in ("gt", "lt")]

    def hold(self, labels: Labels) -> bool:
        for key, values in self._allowed.items():
            value = labels.get(key)
            if not isinstance(value, str) or value not in values:  # in a dump, anything may stand there
                return False
        if not self._present <= labels.keys():
            return False
        for requirement in self._compared:
            if not requirement.matches(labels):
                return False
        if not self._forbidden and not self._absent:
            return True
        return not any(key in self._absent or self._is_forbidden(key, value) for key, value in labels.items())

    def _is_forbidden(self, key: str, value: str) -> bool:
        return key in self._forbidden and isinstance(value, str) and value in self._forbidden[key]


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements; without requirements it matches everything."""

    requirements: tuple[Requirement, ...] = ()
    _conditions: _Conditions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_conditions", _Conditions(self.requirements))

    def matches(self, labels: Labels) -> bool:
        return self._conditions.hold(labels)

    def __bool__(self) -> bool:
        return bool(self.requirements)


NOTHING: Final = LabelSelector((Requirement("", "in"),))
"""The selector that matches nothing."""

_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[!=<>(),]|[^ \t\r\n!=<>(),\0]+)\0?")
"""A token; a NUL directly behind it belongs to it, and any other NUL ends the text, as in kube-apiserver."""
_WORDS: Final = ("in", "notin")
_OPERATORS: Final = ("=", "==", "!=", ">", "<", *_WORDS)


class _Parser:
    """A recursive-descent parser that fails where kube-apiserver's does, with its messages."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_tokens(text), ""]
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _next(self) -> str:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def parse(self) -> tuple[Requirement, ...]:
        found: list[Requirement] = []
        while True:
            check_deadline()
            token = self._peek()
            if token == "!" or _is_word(token):
                found.append(self._requirement())
                after = self._next()
                if not after:
                    return tuple(found)
                if after != ",":
                    raise BadSelector(f"found '{after}', expected: ',' or 'end of string'")
                if not (self._peek() == "!" or _is_word(self._peek())):
                    raise BadSelector(f"found '{self._peek()}', expected: identifier after ','")
            elif not token:
                return tuple(found)
            else:
                raise BadSelector(f"found '{token}', expected: !, identifier, or 'end of string'")

    def _requirement(self) -> Requirement:
        try:
            return self._read_requirement()
        except BadSelector as error:
            told = error.told
            raise BadSelector(lambda behaviour: f"unable to parse requirement: {told(behaviour)}") from None

    def _read_requirement(self) -> Requirement:
        token = self._next()
        negated = token == "!"
        key = self._next() if negated else token
        if not _is_word(key):
            raise BadSelector(f"found '{key}', expected: identifier")
        if not is_qualified_name(key):
            raise BadSelector(partial(_bad_key, key))
        if negated:
            return Requirement(key, "!")
        operator = self._peek()
        if operator in ("", ","):
            return Requirement(key, "exists")
        if operator not in _OPERATORS:
            raise BadSelector(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        self._next()
        if operator in _WORDS:
            return _checked(Requirement(key, operator, self._values()))
        value = self._exact()
        return _checked(Requirement(key, {"!=": "notin", ">": "gt", "<": "lt"}.get(operator, "in"), (value,)))

    def _exact(self) -> str:
        if self._peek() in ("", ","):
            return ""
        token = self._next()
        if not _is_word(token):
            raise BadSelector(f"found '{token}', expected: identifier")
        return token

    def _values(self) -> tuple[str, ...]:
        token = self._next()
        if token != "(":
            raise BadSelector(f"found '{token}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return ("",)
        if first != "," and not _is_word(first):
            raise BadSelector(f"found '{first}', expected: ',', ')' or identifier")
        return tuple(sorted(self._listed()))

    def _listed(self) -> set[str]:
        """The values up to the closing bracket. Consecutive commas stand for the empty value."""
        values: set[str] = set()
        while True:
            token = self._next()
            after = self._peek()
            if token == ",":
                if not values or after in (",", ")"):
                    values.add("")
                if after == ",":
                    self._next()  # kube-apiserver's reader stops at a bracket behind it
            elif _is_word(token):
                values.add(token)
                if after not in (",", ")"):
                    raise BadSelector(f"found '{after}', expected: ',' or ')'")
            else:
                raise BadSelector(f"found '{token}', expected: ',', or identifier")
            if after == ")":
                self._next()
                return values


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while found := _TOKEN.match(text, at):
        yield found[1]
        at = found.end()


def _is_word(token: str) -> bool:
    return bool(token) and token not in ("==", "!=") and token[0] not in "!=<>(),"


def _bad_key(key: str, behaviour: ServedBehaviour) -> str:
    return invalid_value("<nil>", key, joined("; ", qualified_name(key))).told(behaviour)


def _checked(requirement: Requirement) -> Requirement:
    numbers = requirement.operator not in ("gt", "lt") or None not in map(parse_int, requirement.values)
    if not numbers or not all(map(is_label_value, requirement.values)):
        raise BadSelector(partial(_bad_values, requirement))
    return requirement


def _bad_values(requirement: Requirement, behaviour: ServedBehaviour) -> str:
    errors: list[FieldError] = []
    for index, value in enumerate(requirement.values):
        if requirement.operator in ("gt", "lt") and parse_int(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid_value(f"values[{index}]", value, detail))
    for index, value in enumerate(requirement.values):
        wrong = label_value(value)
        if wrong:
            errors.append(invalid_value(f"values[{index}][{requirement.key}]", value, joined("; ", wrong)))
    return aggregate_errors(error.told(behaviour) for error in errors)


@cached_when_short(512)
def parse(text: str) -> LabelSelector:
    """The selector of a ``labelSelector`` parameter. Raises BadSelector.

    Examples
    --------
    >>> parse("app in (web,api),!old").matches({"app": "web"})
    True
    """
    return LabelSelector(_Parser(text).parse())


_STRUCTURED: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def of_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """The selector of a LabelSelector object: None selects nothing, an empty one everything.

    An expression with an unknown operator selects nothing; validation refuses it where it is written.
    """
    if selector is None:
        return NOTHING
    labels: Mapping[str, str] = selector.get("matchLabels") or {}
    expressions: Sequence[Mapping[str, Any]] = selector.get("matchExpressions") or ()
    found = [Requirement(key, "in", (value,)) for key, value in labels.items()]
    for expression in expressions:
        operator = _STRUCTURED.get(expression.get("operator", ""))
        if operator is None:
            return NOTHING
        found.append(Requirement(expression["key"], operator, tuple(expression.get("values") or ())))
    return LabelSelector(tuple(found))
