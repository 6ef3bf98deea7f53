"""Validation of the kubelet configuration that a node takes from a ConfigMap, in its spec and its status.

Follows ``pkg/apis/core/validation/validation.go``, release 1.21.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.validation.config_keys import key_texts
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object, at

_FROM_SERVER: Final = ("uid", "resourceVersion")
_STATES: Final = ("assigned", "active", "lastKnownGood")
_RULES: Final = (("namespace", dns_label), ("name", dns_subdomain), ("kubeletConfigKey", key_texts))


def validate_node_config(node: Object) -> Iterator[FieldError]:
    """The errors of the configuration that a changed node asks for, and of those that its kubelet tells."""
    wanted = at(node, "spec", "configSource")
    if wanted is not None:
        yield from _validate_source("spec.configSource", wanted, told=False)
    for state in _STATES:
        source = at(node, "status", "config", state)
        if source is not None:
            yield from _validate_source(f"status.config.{state}", source, told=True)


def _validate_source(path: str, source: Object, *, told: bool) -> Iterator[FieldError]:
    found = source.get("configMap")
    if found is None:
        yield invalid_value(
            path, structure("core.NodeConfigSource", source), "exactly one reference subfield must be non-nil"
        )
        return
    where = f"{path}.configMap"
    for field in _FROM_SERVER:
        if told and not found.get(field):
            yield required(f"{where}.{field}", f"{field} must be set in status")
        elif not told and found.get(field):
            yield forbidden_field(f"{where}.{field}", f"{field} must not be set in spec")
    for field, rule in _RULES:
        value = found.get(field) or ""
        if not value:
            yield required(f"{where}.{field}", f"{field} must be set")
        else:
            yield from (invalid_value(f"{where}.{field}", value, text) for text in rule(value))
