"""Strategy of NetworkPolicy: defaulting, validation, printer columns.

Follows ``pkg/registry/networking/networkpolicy/strategy.go`` and ``pkg/apis/networking/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy, own_items
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.printers.label_selector import selector_text
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.ip import Network, cidr_warnings, network, validate_cidr, validate_port
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.strategy import Strategy, Subresource, checked_twice, spec_differs
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import port_name
from simkit.meta.objects import Draft, Object, at, name_of

_TYPES: Final = ("Ingress", "Egress")
_NO_RANGE: Final = "not a valid CIDR"
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_SIDES: Final = (("ingress", "from"), ("egress", "to"))


def _default(draft: Draft) -> None:
    if applies("network-policies-have-status"):
        draft.setdefault("status", {})
    spec = own_copy(draft, "spec")
    for side, _ in _SIDES:
        for rule in own_items(spec, side):
            for port in own_items(rule, "ports"):
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"]))


def _once() -> bool:
    return applies("network-policies-checked-once")


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    yield from validate_label_selector(spec.get("podSelector"), "spec.podSelector")
    for side, peers in _SIDES:
        for index, rule in enumerate(spec.get(side) or ()):
            path = f"spec.{side}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                yield from _validate_port(port, f"{path}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                yield from _validate_peer(peer, f"{path}.{peers}[{number}]")
    types = spec["policyTypes"]
    if len(types) > len(_TYPES):
        shown = texts(types, "networking.PolicyType")
        yield invalid_value("spec.policyTypes", shown, "may not specify more than two policyTypes")
        return
    for index, name in enumerate(types):
        if name not in _TYPES:
            yield unsupported(f"spec.policyTypes[{index}]", name, _TYPES)


def _validate_port(port: Object, path: str) -> Iterator[FieldError]:
    if port["protocol"] not in _PROTOCOLS:
        yield unsupported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    first, last = port.get("port"), port.get("endPort")
    if isinstance(first, str):
        if last is not None:
            yield invalid_value(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
        yield from validate_text(f"{path}.port", first, port_name)
    elif first is not None:
        yield from validate_port(f"{path}.port", first)
        if last is not None:
            if last < first:
                yield invalid_value(f"{path}.endPort", first, "must be greater than or equal to `port`")
            yield from validate_port(f"{path}.endPort", last)
    elif last is not None:
        yield invalid_value(f"{path}.endPort", last, "may not be specified when `port` is not specified")


def _validate_peer(peer: Object, path: str) -> Iterator[FieldError]:
    present = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if name in peer]
    for name in present[:2]:
        if name != "ipBlock":
            yield from validate_label_selector(peer[name], f"{path}.{name}")
    if "ipBlock" in peer:
        yield from _validate_block(peer["ipBlock"], f"{path}.ipBlock")
    if not present:
        yield required(path, "must specify a peer")
    elif len(present) > 1 and "ipBlock" in peer:
        yield forbidden_field(path, "may not specify both ipBlock and another peer")


def _validate_block(block: Object, path: str) -> Iterator[FieldError]:
    text = block.get("cidr") or ""
    if not text:
        yield required(f"{path}.cidr")
        return
    yield from validate_cidr(f"{path}.cidr", text, formerly=_NO_RANGE)
    whole = network(text)
    if whole is None:
        return
    for index, one in enumerate(block.get("except") or ()):
        where, part = f"{path}.except[{index}]", network(one)
        yield from validate_cidr(where, one, formerly=_NO_RANGE)
        if part is None and not applies("addresses-told-alike"):
            return
        if part is not None and not _inside(part, whole):
            yield invalid_value(where, one, "must be a strict subset of `cidr`")


def _inside(part: Network, whole: Network) -> bool:
    """True if a range is a strict subset of another one."""
    same = part.version == whole.version
    return same and part.network_address in whole and part.prefixlen > whole.prefixlen


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about ranges, which came when all warnings about addresses changed."""
    if not applies("addresses-warned-about"):
        return ()
    found: list[str] = []
    for side, peers in _SIDES:
        for index, rule in enumerate(at(obj, "spec", side) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                block, path = peer.get("ipBlock") or {}, f"spec.{side}[{index}].{peers}[{number}].ipBlock"
                found += cidr_warnings(f"{path}.cidr", block.get("cidr") or "")
                for place, text in enumerate(block.get("except") or ()):
                    found += cidr_warnings(f"{path}.except[{place}]", text)
    return found


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), selector_text(at(obj, "spec", "podSelector")), created(obj, now)]


def _prepare(draft: Draft, old: Object | None) -> None:
    """From 1.24 to 1.27 the status of a policy that has conditions already stays."""
    if not _wipes_status() and old is not None and at(old, "status", "conditions"):
        draft["status"] = old["status"]


def _keep_old_status(draft: Draft, live: Object) -> None:
    """Without the feature gate a status can only be cleared."""
    keep_all_but_status(draft, live)
    if not _wipes_status():
        draft["status"] = live.get("status") or {} if at(draft, "status", "conditions") else {}


def _wipes_status() -> bool:
    return not applies("network-policies-have-status")


STRATEGY = Strategy(
    prepare=_prepare,
    subresources={"status": Subresource(_keep_old_status, owns_all=True)},
    wipes_status=_wipes_status,
    metadata_checks=checked_twice(_once),
    default=_default,
    validate=_validate,
    warnings=_warnings,
    raises_generation=spec_differs,
    print_row=_row,
)
