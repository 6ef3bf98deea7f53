"""What simkit uses of pydantic, in Python alone: for Pythons that pydantic-core has no wheel for.

Documents that pydantic accepts give the same values here, but no numbers are made of texts. Errors name the same
places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, Self, Union, get_args, get_origin, get_type_hints

ConfigDict = dict
StrictBool, StrictStr = bool, str
_MISSING: Final = object()
_PLAIN: Final = {str: "string", bool: "boolean", int: "integer", float: "number"}
_Place = tuple[str | int, ...]


class ValidationError(ValueError):
    """What is wrong with a document, with each place."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found))
        self._found = found

    def errors(self) -> list[dict[str, Any]]:
        """Each error: ``loc``, ``msg`` and ``type``."""
        return self._found


@dataclass(frozen=True)
class BeforeValidator:
    """Changes a value before it is read."""

    func: Callable[[Any], Any]


@dataclass(frozen=True)
class ValidationInfo:
    """What a check is told besides the value."""

    context: Any = None


@dataclass
class _Field:
    default: Any = _MISSING
    default_factory: Callable[[], Any] | None = None
    alias: str | None = None
    description: str = ""
    min_length: int = 0
    pattern: str = ""
    ge: float = float("-inf")
    le: float = float("inf")
    annotation: Any = Any

    def check(self, value: Any) -> None:
        """Raise ValidationError for a value out of bounds."""
        if self.min_length and len(value) < self.min_length:
            least = f"at least {self.min_length} {'character' if isinstance(value, str) else 'item'}"
            least += "s" * (self.min_length > 1)
            if isinstance(value, str):
                raise _error(f"String should have {least}", "string_too_short")
            kind = type(value).__name__.capitalize()
            raise _error(f"{kind} should have {least} after validation, not {len(value)}", "too_short")
        if self.pattern and not re.search(self.pattern, value):
            raise _error(f"String should match pattern '{self.pattern}'", "string_pattern_mismatch")
        if isinstance(value, int | float) and value < self.ge:
            raise _error(f"Input should be greater than or equal to {self.ge}", "greater_than_equal")
        if isinstance(value, int | float) and value > self.le:
            raise _error(f"Input should be less than or equal to {self.le}", "less_than_equal")


def Field(default: Any = _MISSING, **told: Any) -> Any:  # noqa: N802 - pydantic's name
    """A field of which more than its type is known."""
    return _Field(default, **told)


@dataclass(frozen=True)
class _Check:
    """A function of a model that changes a value before, or looks at it after it is read."""

    function: Any
    mode: str
    fields: tuple[str, ...] = ()

    def is_about(self, field: str | None) -> bool:
        """True if it is for this field, or for the whole model."""
        return field in self.fields if field else not self.fields

    def __get__(self, instance: Any, owner: type) -> Any:
        plain = self.function
        return plain.__get__(instance, owner) if isinstance(plain, classmethod) or instance is not None else plain


def model_validator(*, mode: str) -> Callable[[Any], Any]:
    """Mark a check of a whole model."""
    return lambda function: _Check(function, mode)


def field_validator(*fields: str, mode: str) -> Callable[[Any], Any]:
    """Mark a check of some fields."""
    return lambda function: _Check(function, mode, fields)


class _Fields:
    """The fields of a model: found when they are asked for, since their types may be defined after the model."""

    def __get__(self, instance: Any, owner: type[BaseModel]) -> dict[str, _Field]:
        if "_fields" not in vars(owner):
            kinds = get_type_hints(owner, include_extras=True)
            told = {name: kind for name, kind in kinds.items() if get_origin(kind) is not ClassVar}
            owner._fields = {name: _written(owner, name, kind) for name, kind in told.items()}
        return owner._fields


def _written(model: type, name: str, kind: Any) -> _Field:
    found = getattr(model, name, _MISSING)
    return replace(found if isinstance(found, _Field) else _Field(found), annotation=kind)


class BaseModel:
    """A document with fields."""

    model_config: ClassVar[dict[str, Any]] = {}
    model_fields: ClassVar[Any] = _Fields()
    _fields: ClassVar[dict[str, _Field]]

    def __init__(self, /, **values: Any) -> None:
        self._fill(values, None)

    @classmethod
    def model_validate(cls, value: Any, *, context: Any = None) -> Self:
        """The model of a document. Raises ValidationError."""
        if isinstance(value, cls):
            return value
        for check in cls._checks("before"):
            value = _called(check.__get__(None, cls), value)
        if cls.model_config.get("from_attributes") and not isinstance(value, Mapping):
            value = {name: getattr(value, name) for name in cls.model_fields if hasattr(value, name)}
        if not isinstance(value, Mapping):
            raise _error(f"Input should be a valid dictionary or instance of {cls.__name__}", "model_type")
        made = cls.__new__(cls)
        made._fill(value, context)
        return made

    @classmethod
    def _checks(cls, mode: str, field: str | None = None) -> Iterator[_Check]:
        for base in reversed(cls.__mro__):
            for each in vars(base).values():
                if (
                    isinstance(each, _Check)
                    and each.mode == mode
                    and (field in each.fields if field else not each.fields)
                ):
                    yield each

    def _fill(self, values: Mapping[str, Any], context: Any) -> None:
        model, left = type(self), dict(values)
        errors: list[dict[str, Any]] = []
        for name, field in model.model_fields.items():
            key = field.alias or name
            if key not in left and (not field.alias or model.model_config.get("populate_by_name")):
                key = name
            with _collected(errors, key):
                self.__dict__[name] = self._value(name, field, left.pop(key, _MISSING), context)
        if model.model_config.get("extra") == "forbid":
            told = {"msg": "Extra inputs are not permitted", "type": "extra_forbidden"}
            errors += [{"loc": (key,), **told} for key in left]
        elif model.model_config.get("extra") == "allow":
            self.__dict__.update(left)
        if errors:
            raise ValidationError(errors)
        for check in self._checks("after"):
            arguments = (ValidationInfo(context),) if check.function.__code__.co_argcount > 1 else ()
            _called(check.__get__(self, model), *arguments)

    def _value(self, name: str, field: _Field, value: Any, context: Any) -> Any:
        if value is _MISSING:
            if field.default_factory is not None:
                return field.default_factory()
            if field.default is _MISSING:
                raise _error("Field required", "missing")
            return field.default
        for check in self._checks("before", name):
            value = _called(check.__get__(None, type(self)), value)
        read = _read(field.annotation, value, context)
        field.check(read)
        return read

    @property
    def model_extra(self) -> dict[str, Any]:
        """What the document has besides the fields."""
        return {name: value for name, value in vars(self).items() if name not in type(self).model_fields}

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with other values of some fields, which are not checked."""
        made = type(self).__new__(type(self))
        made.__dict__.update(vars(self), **(update or {}))
        return made

    def model_dump(self, *, mode: str = "python") -> dict[str, Any]:
        """The fields as plain values; ``json`` has no tuples."""
        return {name: _plain(value, mode) for name, value in vars(self).items()}

    def __setattr__(self, name: str, value: Any) -> None:
        if type(self).model_config.get("frozen"):
            raise _error("Instance is frozen", "frozen_instance")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _error(message: str, kind: str) -> ValidationError:
    return ValidationError([{"loc": (), "msg": message, "type": kind}])


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except ValidationError:
        raise
    except (ValueError, AssertionError) as error:
        raise _error(f"Value error, {error}", "value_error") from error


@contextmanager
def _collected(errors: list[dict[str, Any]], *place: str | int) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        errors += [{**each, "loc": (*place, *each["loc"])} for each in error.errors()]


def _read(kind: Any, value: Any, context: Any) -> Any:
    """The value of a field, of the type that it has."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        return _annotated(arguments, value, context)
    if origin in (Union, UnionType):
        return _either(arguments, value, context)
    if origin is Literal:
        if value in arguments:
            return value
        *most, last = map(repr, arguments)
        raise _error(f"Input should be {' or '.join(filter(None, (', '.join(most), last)))}", "literal_error")
    if kind is type(None) and value is None:
        return None
    if origin is re.Pattern:
        with _told("Input should be a valid regular expression", "pattern_regex"):
            return re.compile(_read(str, value, context))
    if isinstance(origin, type):
        return _container(origin, arguments, value, context)
    if isinstance(kind, type):
        return _single(kind, value, context)
    raise TypeError(f"no way to read {kind}")


def _annotated(arguments: tuple[Any, ...], value: Any, context: Any) -> Any:
    kind, *notes = arguments
    for note in reversed(notes):
        if isinstance(note, BeforeValidator):
            value = _called(note.func, value)
    value = _read(kind, value, context)
    for note in notes:
        if isinstance(note, _Field):
            note.check(value)
    return value


def _either(kinds: tuple[Any, ...], value: Any, context: Any) -> Any:
    errors: list[dict[str, Any]] = []
    for kind in sorted(kinds, key=lambda each: each is not type(value)):
        with _collected(errors):
            if kind is not NoneType or value is None:
                return _read(kind, value, context)
    raise ValidationError(errors)


def _container(origin: type, kinds: tuple[Any, ...], value: Any, context: Any) -> Any:
    errors: list[dict[str, Any]] = []
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise _error("Input should be a valid dictionary", "dict_type")
        found: dict[Any, Any] = {}
        for key, each in value.items():
            with _collected(errors, key):
                found[_read(kinds[0], key, context)] = _read(kinds[1], each, context)
    else:
        if not isinstance(value, list | tuple | set | frozenset):
            raise _error(f"Input should be a valid {origin.__name__}", f"{origin.__name__}_type")
        items = []
        for index, (kind, each) in enumerate(zip(_kinds(kinds, len(value)), value, strict=True)):
            with _collected(errors, index):
                items.append(_read(kind, each, context))
    if errors:
        raise ValidationError(errors)
    if issubclass(origin, Mapping):
        return found
    return origin(items) if origin in (tuple, list, set, frozenset) else items


def _kinds(kinds: tuple[Any, ...], count: int) -> Iterable[Any]:
    if len(kinds) == 1 or kinds[-1] is Ellipsis:
        return (kinds[0],) * count
    if len(kinds) != count:
        raise _error(f"Value should have {len(kinds)} items", "too_long" if count > len(kinds) else "too_short")
    return kinds


def _single(kind: type, value: Any, context: Any) -> Any:
    if issubclass(kind, BaseModel):
        return kind.model_validate(value, context=context)
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if issubclass(kind, Enum):
        with _told(f"Input should be {' or '.join(repr(each.value) for each in kind)}", "enum"):
            return kind(value)
    if kind is date and isinstance(value, str):
        with _told("Input should be a valid date", "date_from_datetime_parsing"):
            return date.fromisoformat(value)
    raise _error(f"Input should be a valid {_PLAIN.get(kind, kind.__name__)}", f"{kind.__name__}_type")


@contextmanager
def _told(message: str, kind: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, re.error):
        raise _error(message, kind) from None


def _plain(value: Any, mode: str) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode=mode)
    if isinstance(value, Mapping):
        return {key: _plain(each, mode) for key, each in value.items()}
    if isinstance(value, list | tuple):
        made = [_plain(each, mode) for each in value]
        return made if mode == "json" or isinstance(value, list) else tuple(made)
    if mode == "json" and isinstance(value, Enum | re.Pattern):
        return value.value if isinstance(value, Enum) else value.pattern
    return value
