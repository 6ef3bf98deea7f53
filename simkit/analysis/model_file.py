"""Files that people write by hand, read as models; rules in them accept what was found, with a reason until a day."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Self, TypeVar

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
        problems = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
        raise SimkitError(f"{file}: {problems}") from None


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
