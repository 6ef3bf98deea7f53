"""Files that people write by hand, read as models; rules in them accept what was found, with a reason until a day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from simkit.language.yaml.small_files import value_of_file
from simkit.meta.errors import SimkitError

M = TypeVar("M", bound=BaseModel)


def model_of_file(path: str | Path, model: type[M], context: Any = None, *, empty: Any = None) -> M:
    """The model of a YAML or JSON file; raises SimkitError that names the entry and what is wrong with it.

    Parameters
    ----------
    context
        What the validators of the model are given.
    empty
        The value of a file without any.
    """
    file = Path(path)
    value = value_of_file(file)
    try:
        return model.model_validate(empty if value is None else value, context=context)
    except ValidationError as error:
        raise SimkitError(f"{file}: {'; '.join(problems_in_words(error, model))}") from None


def problems_in_words(error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """What is wrong with a file of a model, what was expected, and where."""
    problems = error.errors()
    for problem in problems:
        within_it = [one for one in problems if one["loc"][: len(problem["loc"])] == problem["loc"]]
        if problem["type"] == "too_short" and len(within_it) > 1:
            continue  # a list of which all entries are wrong
        *within, last = problem["loc"] or ("",)
        owner = _model_at(model, within)
        fields = ", ".join(owner.model_fields) if owner else ""
        match problem["type"]:
            case "missing":
                told = f"{last!r} is missing"
            case "extra_forbidden":
                told = f"there is no field {last!r}" + (f"; known fields: {fields}" if fields else "")
            case "dict_type" | "model_type" if not problem["loc"]:
                told = f"expected a mapping with {fields}"
            case kind if kind in _EXPECTED:
                told = f"{_named(last)} has to be {_EXPECTED[kind]}"
            case _:
                told = f"{_named(last)}: {problem['msg'].removeprefix('Value error, ')}".removeprefix(": ")
        place = ", ".join(map(_named, within))
        yield f"{place}: {told}" if place else told


_EXPECTED: Final[Mapping[str, str]] = {
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "string_type": "a text",
}


def _named(part: int | str) -> str:
    return f"entry {part + 1}" if isinstance(part, int) else part


def _model_at(model: type[BaseModel] | None, place: Iterable[int | str]) -> type[BaseModel] | None:
    """The model of a part of a file, if it has one."""
    for part in place:
        if model is not None and isinstance(part, str):
            field = model.model_fields.get(part)
            held = () if field is None else (field.annotation, *get_args(field.annotation))
            model = next((one for one in held if isinstance(one, type) and issubclass(one, BaseModel)), None)
    return model


class Acceptance(BaseModel):
    """A reason, and the last day of acceptance (inclusive); subclasses say in further fields what is accepted.

    Each of their fields is a text that may hold ``*``, and matches everything where it is left out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: str = Field(min_length=1, pattern=r"\S")
    expires: date | None = None

    @model_validator(mode="after")
    def _about_something(self) -> Self:
        names = [name for name in type(self).model_fields if name not in Acceptance.model_fields]
        if all(getattr(self, name) == "*" for name in names):
            raise ValueError(f"say what is accepted: {', '.join(names[:-1])} or {names[-1]}")
        return self

    def expired(self, today: date) -> bool:
        """True if the last day of acceptance has passed."""
        return self.expires is not None and self.expires < today
