"""Files that people write by hand, read as models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

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
