"""The file of ``--admission-control-config-file``: the settings of admission plugins, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simkit.engine.egress.configfile import told_errors
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.small_files import value_of_bytes
from simkit.meta.errors import SimkitError


class _Settings(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Entry(_Settings):
    """The settings of a plugin, or the file that holds them."""

    name: str = ""
    path: str | None = None
    configuration: dict[str, Any] | None = None


class File(_Settings):
    """The whole file."""

    plugins: tuple[Entry, ...] | None = None


class PodSecuritySettings(_Settings):
    """Levels and versions by mode, and who and what is exempt."""

    defaults: dict[str, Any] | None = None
    exemptions: dict[str, tuple[str, ...] | None] | None = None


class Limit(_Settings):
    """A resource that may only be used if a quota covers it."""

    api_group: str | None = Field(None, alias="apiGroup")
    resource: str | None = None
    contains: tuple[str, ...] | None = Field(None, alias="matchContains")
    scopes: tuple[dict[str, Any], ...] | None = Field(None, alias="matchScopes")


class QuotaSettings(_Settings):
    """The limited resources."""

    limited: tuple[Limit, ...] | None = Field(None, alias="limitedResources")


class TolerationSettings(_Settings):
    """Tolerations that pods get, and those that they may have."""

    default: tuple[dict[str, Any], ...] | None = None
    whitelist: tuple[dict[str, Any], ...] | None = None


class SelectorSettings(_Settings):
    """Node selectors by namespace."""

    selectors: dict[str, str] | None = Field(None, alias="podNodeSelectorPluginConfig")


TYPES: Final[Mapping[str, type[_Settings]]] = {
    "PodSecurity": PodSecuritySettings,
    "ResourceQuota": QuotaSettings,
    "PodTolerationRestriction": TolerationSettings,
    "PodNodeSelector": SelectorSettings,
}


def read_settings(path: str | Path) -> dict[str, Mapping[str, Any]]:
    """The settings in a file, by plugin. Raises SimkitError for a file that cannot be read, or has wrong types."""
    path = Path(path)
    found: dict[str, Mapping[str, Any]] = {}
    document = _document(path)
    _check(document, File, f"{path}")
    for plugin in document.get("plugins") or ():
        name, settings = plugin.get("name", ""), plugin.get("configuration")
        if settings is None and plugin.get("path"):
            settings = _document(path.parent / plugin["path"])
        found[name] = settings or {}
        _check(found[name], TYPES.get(name, _Settings), f"the settings of {name} in {path}")
    return found


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = value_of_bytes(path.read_bytes())
    except (OSError, BrokenText) as error:
        raise SimkitError(f"the settings of admission plugins cannot be read from {path}: {error}") from None
    if not isinstance(document, Mapping):
        raise SimkitError(f"{path} holds no settings of admission plugins")
    return document


def _check(settings: Mapping[str, Any], model: type[_Settings], place: str) -> None:
    try:
        model.model_validate(settings)
    except ValidationError as error:
        raise SimkitError(f"{place}: {told_errors(error)}") from None
