"""Strategy of ServiceCIDR: validation, printer columns.

Follows ``pkg/registry/networking/servicecidr/strategy.go`` and ``pkg/apis/networking/validation/validation.go``,
release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.kinds.parts.printers.cells import columns
from simkit.kinds.parts.validation.ip import family, network, validate_canonical_cidr
from simkit.kinds.rules import FIXED
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.objects import Draft, Object, at

_RANGES: Final = "spec.cidrs"
_ONE_EACH: Final = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    draft["status"] = draft.get("status") or {}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    ranges: Sequence[str] | None = at(obj, "spec", "cidrs")
    if old is None:
        return list(_validate_ranges(ranges or []))
    return list(_validate_change(behaviour, ranges, at(old, "spec", "cidrs") or []))


def _validate_ranges(ranges: Sequence[str]) -> Iterator[FieldError]:
    if not ranges:
        yield required(_RANGES, "at least one CIDR required")
        return
    if len(ranges) > 2:
        spec = structure("networking.ServiceCIDRSpec", {"cidrs": ranges})
        yield invalid_value(_RANGES, spec, "may only hold up to 2 values")
        return
    for index, text in enumerate(ranges):
        yield from validate_canonical_cidr(f"{_RANGES}[{index}]", text)
    families = [family(text.partition("/")[0]) for text in ranges if network(text) is not None]
    if len(families) == 2 and families[0] == families[1]:
        yield invalid_value(_RANGES, texts(ranges), _ONE_EACH)


def _validate_change(
    behaviour: ServedBehaviour, given: Sequence[str] | None, before: Sequence[str]
) -> Iterator[FieldError]:
    """The errors of a change: one range may get a second of the other family."""
    now = given or []
    if not behaviour.applies("service-ranges-grow"):
        if list(now) != list(before):
            yield invalid_value(_RANGES, texts(given), FIXED)
    elif len(now) == len(before):
        for index, (text, old) in enumerate(zip(now, before, strict=True)):
            if text != old:
                yield invalid_value(f"{_RANGES}[{index}]", text, FIXED)
    elif len(before) == 1 and len(now) == 2:
        if now[0] != before[0]:
            yield invalid_value(f"{_RANGES}[0]", now[0], FIXED)
        yield from _validate_ranges(now)
    else:
        yield invalid_value(_RANGES, texts(given), FIXED)


def _reset_fields(behaviour: ServedBehaviour) -> Mapping[str, Sequence[str]]:
    """No fields before 1.36, whose sources say them for a group of another name."""
    return {} if behaviour.applies("status-of-ranges-apart") else {"": (), "status": ()}


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    prepare=_prepare,
    validate=_validate,
    print_row=columns(lambda obj: ",".join(at(obj, "spec", "cidrs") or ())),
    subresources={"status": Subresource(keep_all_but_own_status, owns_all=True)},
    status_reset_fields=(("metadata",),),
    reset_fields=_reset_fields,
    wipes_status=lambda behaviour: behaviour.applies("status-of-ranges-apart"),
)
