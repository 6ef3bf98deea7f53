"""The extenders of a KubeSchedulerConfiguration: services that decide on pods beside the scheduler.

Upstream: pkg/scheduler/apis/config/validation (``validateExtenders``) and pkg/scheduler/scheduler.go
(``buildExtenders``), release 1.30.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from simkit.engine.egress.kubeconfig import ClientConfig
from simkit.kinds.parts.validation.resource_quantities import is_extended
from simkit.meta.duration import seconds
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.name_validation import qualified_name

_TIMEOUT: Final = 5.0


class Extender(NamedTuple):
    """One extender.

    Attributes
    ----------
    url
        The address before the verbs.
    filter_verb, preempt_verb, prioritize_verb, bind_verb
        The ends of its addresses; empty for what it does not do.
    timeout
        Seconds that a call may take.
    knows_nodes
        True if it is sent the names of nodes only.
    managed
        The extended resources by which pods concern it; empty: it is asked about all pods.
    ignorable
        True if it does not matter when it fails.
    endpoint
        Trusted authorities and own credentials.
    """

    url: str
    filter_verb: str
    preempt_verb: str
    prioritize_verb: str
    bind_verb: str
    weight: int
    timeout: float
    knows_nodes: bool
    managed: frozenset[str]
    ignorable: bool
    endpoint: ClientConfig


def extenders_of(given: Sequence[Mapping[str, Any]]) -> tuple[Extender, ...]:
    """The extenders in the order in which they are asked: ignorable ones last. Raises SimkitError."""
    made = [_extender(f"extenders[{index}]", each) for index, each in enumerate(given)]
    return tuple(sorted(made, key=lambda each: each.ignorable))


def ignored_resources(given: Sequence[Mapping[str, Any]]) -> list[str]:
    """The resources that extenders manage and the scheduler itself does not look at."""
    managed = (resource for each in given for resource in each.get("managedResources") or ())
    return [str(each.get("name")) for each in managed if each.get("ignoredByScheduler")]


def _extender(path: str, given: Mapping[str, Any]) -> Extender:
    filters, preempts, scores, binds = (
        str(given.get(f"{verb}Verb") or "") for verb in ("filter", "preempt", "prioritize", "bind")
    )
    managed = frozenset(str(each.get("name")) for each in given.get("managedResources") or ())
    return Extender(
        str(given.get("urlPrefix") or ""),
        filters,
        preempts,
        scores,
        binds,
        given.get("weight") or 0,
        _timeout(f"{path}.httpTimeout", given.get("httpTimeout")),
        bool(given.get("nodeCacheCapable")),
        managed,
        bool(given.get("ignorable")),
        _endpoint(f"{path}.tlsConfig", given),
    )


def _timeout(path: str, text: str | None) -> float:
    try:
        return max(0.0, seconds(text)) or _TIMEOUT if text else _TIMEOUT
    except ValueError as error:
        raise SimkitError(f"{path}: {error}") from error


def _endpoint(path: str, given: Mapping[str, Any]) -> ClientConfig:
    settings = given.get("tlsConfig") or {}
    certificate, key, authorities = (_pem(path, settings, word) for word in ("cert", "key", "ca"))
    unchecked = bool(given.get("enableHTTPS")) and not authorities
    return ClientConfig(
        str(given.get("urlPrefix") or ""),
        authorities,
        certificate,
        key,
        server_name=str(settings.get("serverName") or ""),
        insecure=bool(settings.get("insecure")) or unchecked,
    )


def _pem(path: str, settings: Mapping[str, Any], word: str) -> bytes:
    """A certificate or key, which may stand in a file of its own."""
    try:
        if settings.get(f"{word}Data"):
            return base64.b64decode(settings[f"{word}Data"], validate=True)
        return Path(settings[f"{word}File"]).read_bytes() if settings.get(f"{word}File") else b""
    except binascii.Error as error:
        raise SimkitError(f"{path}.{word}Data is no base64: {error}") from error
    except OSError as error:
        raise SimkitError(f"{path}.{word}File cannot be read: {error}") from error


def validate_extenders(given: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    """The errors of the extenders of a configuration."""
    seen: set[str] = set()
    for index, each in enumerate(given):
        path, weight = f"extenders[{index}]", each.get("weight") or 0
        if each.get("prioritizeVerb") and weight <= 0:
            yield invalid_value(f"{path}.weight", weight, "must have a positive weight applied to it")
        for number, resource in enumerate(each.get("managedResources") or ()):
            name = str(resource.get("name") or "")
            yield from _validate_resource(f"{path}.managedResources[{number}]", name, seen)
            seen.add(name)
    binders = sum(bool(each.get("bindVerb")) for each in given)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        yield invalid_value("extenders", found, "only one extender can implement bind")


def _validate_resource(path: str, name: str, seen: set[str]) -> Iterator[FieldError]:
    wrong = qualified_name(name)
    yield from (invalid_value(f"{path}.name", name, text) for text in wrong)
    if not wrong and not is_extended(name):
        yield invalid_value(f"{path}.name", name, "is an invalid extended resource name")
    if name in seen:
        yield invalid_value(f"{path}.name", name, "duplicate extender managed resource name")
