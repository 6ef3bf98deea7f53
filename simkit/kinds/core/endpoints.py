"""Strategy of Endpoints: defaults and validation. Subsets stay as they are written.

Follows ``pkg/registry/core/endpoint/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.cells import NONE, columns, few
from simkit.kinds.parts.copy_on_write import own_items, prepared
from simkit.kinds.parts.validation.ip import PORT, ip_warnings, validate_ip, validate_non_special_ip
from simkit.kinds.rules import REQUIRED, Check, by, fields, items, must, row, table, validation
from simkit.kinds.strategy import Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.name_validation import dns_label, dns_subdomain, qualified_name
from simkit.meta.objects import Draft, Object, labels_of

_MANAGED_BY: Final = label("managed-by", "endpoints")
_SIDES: Final = ("addresses", "notReadyAddresses")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    for subset in own_items(draft, "subsets"):
        for port in own_items(subset, "ports"):
            port["protocol"] = port.get("protocol") or "TCP"


_ADDRESS: Final = table(
    row("ip", by(validate_ip), zero=""),
    row("hostname", must.be(dns_label)),
    row("nodeName", must.be(dns_subdomain), empty=True),
    row("ip", by(validate_non_special_ip), zero=""),
)


def _port(*, named: bool) -> Check:
    """The check of a port; ``named`` tells whether there are several, which need names."""
    return table(
        row("name", REQUIRED, must.be(dns_label)) if named else row("name", must.be(dns_label)),
        row("port", PORT, zero=0),
        row("protocol", must.be_one_of("SCTP", "TCP", "UDP"), empty=True),
        row("appProtocol", must.be(qualified_name), empty=True),
    )


_SUBSET: Final = table(
    row("", must.be_set("must specify `addresses` or `notReadyAddresses`"), unless=fields.either(*_SIDES)),
    row("addresses[]", _ADDRESS),
    row("notReadyAddresses[]", _ADDRESS),
    row("ports", items(_port(named=False)), when=lambda subset: len(subset["ports"]) == 1),
    row("ports", items(_port(named=True)), when=lambda subset: len(subset["ports"]) > 1),
)


def _shown(obj: Object) -> str:
    subsets = obj.get("subsets") or ()
    return few([text for subset in subsets for text in _pairs(subset)], "" if subsets else NONE)


def _pairs(subset: Object) -> Iterator[str]:
    ports, addresses = subset.get("ports") or (), [one.get("ip", "") for one in subset.get("addresses") or ()]
    if not ports:
        yield from addresses
    for port in ports:
        for ip in addresses:
            yield f"[{ip}]:{port.get('port', 0)}" if ":" in ip else f"{ip}:{port.get('port', 0)}"


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about addresses that the endpoints controller has not written."""
    if not behaviour.applies("addresses-warned-about") or labels_of(obj).get(_MANAGED_BY) == "endpoint-controller":
        return []
    return [
        warning
        for place, subset in enumerate(obj.get("subsets") or ())
        for field in _SIDES
        for index, address in enumerate(subset.get(field) or ())
        for warning in ip_warnings(behaviour, f"subsets[{place}].{field}[{index}].ip", address.get("ip") or "")
    ]


STRATEGY = Strategy(
    default=_default,
    prepare=prepared(without=("subsets",)),
    validate=validation(row("subsets[]", _SUBSET)),
    print_row=columns(_shown),
    warnings=_warnings,
    allow_create_on_update=True,
)
