"""Rights that a write of the status of a resource claim needs besides that of the request.

Upstream: pkg/registry/resource/utils.go and pkg/registry/resource/resourceclaim/strategy.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.engine.authz.forbidden import forbidden_error
from simkit.engine.seams import Authorizer
from simkit.kinds.parts.devices.key import device_key
from simkit.meta.attributes import Attributes
from simkit.meta.behaviour import applies
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, forbidden_field
from simkit.meta.identity import Identity
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object, at

_NODE_NAME: Final = label("node-name", "authentication")
_ASSOCIATED: Final = "associated-node:"
_ARBITRARY: Final = "arbitrary-node:"
_BOUND: Final = "changing status.allocation or status.reservedFor"


def refused_claim_status(ask: Attributes, authorizer: Authorizer, claim: Object, old: Object) -> list[FieldError]:
    """The errors of what the user of a request may not change in the status of a claim.

    Who changes what is allocated, or for whom, needs the right to the virtual subresource ``binding`` in all
    namespaces. Who changes what is told about the devices of a driver needs a right to ``driver`` of its name.
    """
    status, before = claim.get("status") or {}, old.get("status") or {}
    errors = _refused_binding(ask, authorizer, status, before)
    if status.get("allocation") is not None and applies("drivers-tell-status-of-devices"):
        errors += _refused_devices(ask, authorizer, status, before)
    return errors


def _refused_binding(ask: Attributes, authorizer: Authorizer, status: Object, before: Object) -> list[FieldError]:
    if all(_plain(status.get(part)) == _plain(before.get(part)) for part in ("allocation", "reservedFor")):
        return []
    refused = _refusal(authorizer, replace(ask, subresource="binding", namespace="", name=""))
    if not refused:
        return []
    needed = f'requires resource="resourceclaims/binding", verb="{ask.verb}" permission'
    return [forbidden_field("status.allocation", f"{_BOUND} {needed}: {refused}")]


def _refused_devices(ask: Attributes, authorizer: Authorizer, status: Object, before: Object) -> list[FieldError]:
    verbs = [f"{_ARBITRARY}{ask.verb}"]
    if _is_on_node(ask.identity, _node_of(status["allocation"])):
        verbs.insert(0, f"{_ASSOCIATED}{ask.verb}")
    needed = f'requires resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
    errors = []
    for driver in _changed_drivers(status.get("devices") or (), before.get("devices") or ()):
        asked = [replace(ask, verb=verb, subresource="driver", name=driver) for verb in verbs]
        refused = [_refusal(authorizer, each) for each in asked]
        if all(refused):
            errors.append(forbidden_field("status.devices", f"changing status.devices {needed}: {refused[0]}"))
    return errors


def _changed_drivers(devices: Sequence[Object], before: Sequence[Object]) -> list[str]:
    """The drivers with a device of which something else is told now, sorted."""
    then = {device_key(device): _plain(device) for device in before}
    now = {device_key(device): _plain(device) for device in devices}
    changed = [key for key in then.keys() | now.keys() if then.get(key) != now.get(key)]
    return sorted({driver for driver, *_ in changed}, key=str.encode)


def _plain(value: Any) -> Any:
    """A value in which empty lists and missing fields are the same."""
    if isinstance(value, Mapping):
        found = {name: _plain(item) for name, item in value.items()}
        return {name: item for name, item in found.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value] or None
    return value


def _node_of(allocation: Object) -> str:
    """The node on which alone an allocation can be used; empty for any other."""
    terms = at(allocation, "nodeSelector", "nodeSelectorTerms") or []
    fields = [field for term in terms for field in term.get("matchFields") or ()]
    if len(terms) != 1 or terms[0].get("matchExpressions") or len(fields) != 1:
        return ""
    values = fields[0].get("values") or []
    named = fields[0].get("key") == "metadata.name" and fields[0].get("operator") == "In"
    return values[0] if named and len(values) == 1 else ""


def _is_on_node(identity: Identity, node: str) -> bool:
    """True for a service account whose token is bound to a node."""
    told = tuple(identity.extra.get(_NODE_NAME, ()))
    return bool(node) and identity.service_account is not None and told == (node,) and not dns_subdomain(node)


def _refusal(authorizer: Authorizer, ask: Attributes) -> str:
    """The message of a refusal; empty if the user may."""
    decision = authorizer.authorize(ask)
    if decision.allowed:
        return ""
    return forbidden_error(ask, ": ".join(filter(None, (decision.error, decision.reason)))).message
