"""The settings of admission plugins in the file of ``--admission-control-config-file``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simkit.engine.admission.pod_security import Exemptions
from simkit.engine.admission.resource_quota import LimitedResource
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.small_files import value_of_bytes
from simkit.logic.podsecurity.policy import PREFIX, Policy, policy_of
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource

Settings = Mapping[str, Any]


def read_settings(path: str | Path) -> dict[str, Settings]:
    """The settings in a file, by plugin. Raises SimkitError for a file that cannot be read."""
    path = Path(path)
    found: dict[str, Settings] = {}
    for plugin in _document(path).get("plugins") or ():
        settings = plugin.get("configuration")
        if settings is None and plugin.get("path"):
            settings = _document(path.parent / plugin["path"])
        found[plugin.get("name", "")] = settings or {}
    return found


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = value_of_bytes(path.read_bytes())
    except (OSError, BrokenText) as error:
        raise SimkitError(f"the settings of admission plugins cannot be read from {path}: {error}") from None
    if not isinstance(document, Mapping):
        raise SimkitError(f"{path} holds no settings of admission plugins")
    return document


def pod_security(settings: Settings) -> tuple[Policy, Exemptions]:
    """The default policy of namespaces and the exemptions. Raises SimkitError."""
    defaults = settings.get("defaults") or {}
    policy, errors = policy_of({PREFIX + name: str(value) for name, value in defaults.items()})
    if errors:
        raise SimkitError(f"PodSecurity: {'; '.join(f'{error.value!r} {error.detail}' for error in errors)}")
    exempt = settings.get("exemptions") or {}
    parts = ("namespaces", "usernames", "runtimeClasses")
    return policy, Exemptions(*(frozenset(exempt.get(part) or ()) for part in parts))


def limited(settings: Settings) -> list[LimitedResource]:
    """The resources that may only be used if a quota covers them."""
    return [
        LimitedResource(
            GroupResource(each.get("apiGroup", ""), each.get("resource", "")),
            each.get("matchContains") or (),
            each.get("matchScopes") or (),
        )
        for each in settings.get("limitedResources") or ()
    ]
