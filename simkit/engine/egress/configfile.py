"""Configuration files of the API server: YAML of a known kind and version, decoded strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.small_files import value_of_bytes
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import FieldError, aggregate_errors
from simkit.schema.behaviour import OWN

CONFIG_GROUP: Final = api_group("apiserver.config")
VERSIONS: Final = ("v1alpha1", "v1beta1")
Document = TypeVar("Document", bound=BaseModel)


def parse(content: bytes, model: type[Document], kind: str, source: str) -> Document:
    """The document of a file's content. Raises SimkitError with all its format errors."""
    failed = f"failed to load {kind} from file"
    try:
        document = value_of_bytes(content)
    except BrokenText as error:
        raise SimkitError(f"{failed}: {source} is no YAML: {error}") from error
    if not isinstance(document, Mapping):
        raise SimkitError(f"{failed}: {source} holds no configuration")
    given, named = document.get("apiVersion"), document.get("kind")
    known = [f"{CONFIG_GROUP}/{version}" for version in VERSIONS]
    if given not in known or named != kind:
        why = f'no kind "{named}" is registered for version "{given}"; use {known[-1]}, {kind}'
        raise SimkitError(f"{failed}: {source}: {why}")
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise SimkitError(f"{failed}: {source}: strict decoding error: {told_errors(error)}") from error


def told_errors(error: ValidationError) -> str:
    """The format errors of a document, each with its place."""
    return "; ".join(map(_error, error.errors()))


def refuse(errors: Sequence[FieldError], source: str) -> None:
    """Raise SimkitError with the distinct errors, if there are any."""
    if errors:
        raise SimkitError(f"{source}: {aggregate_errors(error.told(OWN) for error in errors)}")


def _error(error: Any) -> str:
    place = ""
    for step in error["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
    return f'unknown field "{place}"' if error["type"] == "extra_forbidden" else f"{place}: {error['msg']}"
