"""Strategy of NetworkPolicy: defaulting, validation, printer columns.

Follows ``pkg/registry/networking/networkpolicy/strategy.go`` and ``pkg/apis/networking/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy, own_items
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.printers.cells import columns, selector_text
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.ip import PORT, Network, cidr_warnings, network, validate_cidr
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.rules import by, items, must, placed, row, table, validation
from simkit.kinds.strategy import Strategy, Subresource, checked_twice, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import port_name
from simkit.meta.objects import Draft, Object, at

_TYPES: Final = ("Ingress", "Egress")
_NO_RANGE: Final = "not a valid CIDR"
_SHOWN_TYPES: Final = partial(texts, kind="networking.PolicyType")
_SIDES: Final = (("ingress", "from"), ("egress", "to"))


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    if behaviour.applies("network-policies-have-status"):
        draft.setdefault("status", {})
    spec = own_copy(draft, "spec")
    for side, _ in _SIDES:
        for rule in own_items(spec, side):
            for port in own_items(rule, "ports"):
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate_end(behaviour: ServedBehaviour, path: str, port: Object) -> Iterator[FieldError]:
    """The errors of a port or range of ports; kube-apiserver shows the first number where the last is less."""
    first, last = port.get("port"), port.get("endPort")
    if isinstance(first, str):
        if last is not None:
            yield invalid_value(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
        yield from validate_text(f"{path}.port", first, port_name)
    elif first is not None:
        yield from placed(f"{path}.port", PORT(behaviour, first))
        if last is not None:
            if last < first:
                yield invalid_value(f"{path}.endPort", first, "must be greater than or equal to `port`")
            yield from placed(f"{path}.endPort", PORT(behaviour, last))
    elif last is not None:
        yield invalid_value(f"{path}.endPort", last, "may not be specified when `port` is not specified")


def _validate_block(behaviour: ServedBehaviour, path: str, block: Object) -> Iterator[FieldError]:
    text = block.get("cidr") or ""
    if not text:
        yield required(f"{path}.cidr")
        return
    yield from validate_cidr(behaviour, f"{path}.cidr", text, formerly=_NO_RANGE)
    whole = network(text)
    if whole is None:
        return
    for index, one in enumerate(block.get("except") or ()):
        where, part = f"{path}.except[{index}]", network(one)
        yield from validate_cidr(behaviour, where, one, formerly=_NO_RANGE)
        if part is None and not behaviour.applies("addresses-told-alike"):
            return
        if part is not None and not _inside(part, whole):
            yield invalid_value(where, one, "must be a strict subset of `cidr`")


def _inside(part: Network, whole: Network) -> bool:
    """True if a range is a strict subset of another one."""
    same = part.version == whole.version
    return same and part.network_address in whole and part.prefixlen > whole.prefixlen


_PORT: Final = table(row("protocol", must.be_one_of("TCP", "UDP", "SCTP"), empty=True), by(_validate_end))


def _is_empty(peer: Object) -> bool:
    return not peer.keys() & {"podSelector", "namespaceSelector", "ipBlock"}


def _is_mixed(peer: Object) -> bool:
    return "ipBlock" in peer and bool(peer.keys() & {"podSelector", "namespaceSelector"})


_PEER: Final = table(
    row("podSelector", LABEL_SELECTOR),
    row("namespaceSelector", LABEL_SELECTOR),
    row("ipBlock", by(_validate_block)),
    row("", must.be_set("must specify a peer"), when=_is_empty),
    row("", must.be_refused("may not specify both ipBlock and another peer"), when=_is_mixed),
)


_RULES: Final = validation(
    row("spec.podSelector", LABEL_SELECTOR),
    row("spec.ingress[]", row("ports[]", _PORT), row("from[]", _PEER)),
    row("spec.egress[]", row("ports[]", _PORT), row("to[]", _PEER)),
    row(
        "spec.policyTypes",
        must.hold(lambda types: len(types) <= 2, "may not specify more than two policyTypes", _SHOWN_TYPES),
        items(must.be_one_of(*_TYPES)),
    ),
)


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    """The warnings about ranges, which came when all warnings about addresses changed."""
    if not behaviour.applies("addresses-warned-about"):
        return
    for side, peers in _SIDES:
        for index, rule in enumerate(at(obj, "spec", side) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                block, path = peer.get("ipBlock") or {}, f"spec.{side}[{index}].{peers}[{number}].ipBlock"
                yield from cidr_warnings(behaviour, f"{path}.cidr", block.get("cidr") or "")
                for place, text in enumerate(block.get("except") or ()):
                    yield from cidr_warnings(behaviour, f"{path}.except[{place}]", text)


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """From 1.24 to 1.27 the status of a policy that has conditions already stays."""
    if not _wipes_status(behaviour) and old is not None and at(old, "status", "conditions"):
        draft["status"] = old["status"]


def _keep_old_status(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Without the feature gate a status can only be cleared."""
    keep_all_but_status(behaviour, draft, live)
    if not _wipes_status(behaviour):
        draft["status"] = live.get("status") or {} if at(draft, "status", "conditions") else {}


def _wipes_status(behaviour: ServedBehaviour) -> bool:
    return not behaviour.applies("network-policies-have-status")


STRATEGY = Strategy(
    prepare=_prepare,
    subresources={"status": Subresource(_keep_old_status, owns_all=True)},
    wipes_status=_wipes_status,
    metadata_checks=checked_twice("network-policies-checked-once"),
    default=_default,
    validate=_RULES,
    warnings=_warnings,
    raises_generation=spec_differs,
    print_row=columns(lambda obj: selector_text(at(obj, "spec", "podSelector"))),
)
