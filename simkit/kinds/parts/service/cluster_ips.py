"""Validation of the cluster addresses and IP families of a Service.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import ne
from typing import Final

from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.service.types import EXTERNAL_NAME, HEADLESS, is_headless, type_of
from simkit.kinds.parts.validation.ip import family, validate_ip
from simkit.kinds.parts.validation.repeats import repeats
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, Shown, duplicate, invalid_value, required, unsupported
from simkit.meta.objects import Object, at

FAMILIES: Final = ("IPv4", "IPv6")
POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_PATH: Final = "spec.clusterIPs"
ONCE: Final = "may not change once set"


def strings(values: Sequence[str]) -> Shown:
    """A list of strings as Go prints it."""
    return texts(values or None)


def validate_address_field(service: Object) -> Sequence[FieldError]:
    """The errors of ``clusterIP``, ``clusterIPs``, ``ipFamilies`` and ``ipFamilyPolicy`` taken together."""
    if type_of(service) == EXTERNAL_NAME:
        return ()
    spec = service["spec"]
    single, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    errors = [*_validate_pair(single, several), *_validate_family(spec)]
    wrong = list(_validate_each(several))
    errors += wrong
    if len(several) > 2:
        errors.append(invalid_value(_PATH, strings(several), "may only hold up to 2 values"))
    return errors if wrong else [*errors, *_validate_together(service, several)]


def _validate_pair(single: str, several: Sequence[str]) -> Iterator[FieldError]:
    by_store = applies("services-kept-by-the-store")
    if single and not several:
        yield required(_PATH)
    elif single and several[0] != single:
        text = "first value must match `clusterIP`" if by_store else "element [0] must match clusterIP"
        yield invalid_value(_PATH, strings(several), text)
    elif not single and several:
        reason = "`clusterIP` is not specified" if by_store else "clusterIP is empty"
        yield invalid_value(_PATH, strings(several), f"must be empty when {reason}")


def _validate_family(spec: Object) -> Iterator[FieldError]:
    families = spec.get("ipFamilies") or ()
    again = repeats(families)
    for index, name in enumerate(families):
        if name not in FAMILIES:
            yield unsupported(f"spec.ipFamilies[{index}]", name, FAMILIES)
        if index in again:
            yield duplicate(f"spec.ipFamilies[{index}]", name)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        yield unsupported("spec.ipFamilyPolicy", policy, POLICIES)


def _validate_each(several: Sequence[str]) -> Iterator[FieldError]:
    for index, one in enumerate(several):
        if index == 0 and one == HEADLESS:
            if len(several) > 1:
                yield invalid_value(_PATH, strings(several), "'None' must be the first and only value")
        else:
            yield from validate_ip(f"{_PATH}[{index}]", one)


def _validate_together(service: Object, several: Sequence[str]) -> Iterator[FieldError]:
    if len(several) > 1 and len({family(one) for one in several}) < 2:
        yield invalid_value(_PATH, strings(several), "may specify no more than one IP for each IP family")
    if is_headless(service):
        return
    for index, (one, wanted) in enumerate(zip(several, service["spec"].get("ipFamilies") or (), strict=False)):
        if wanted in FAMILIES and family(one) != wanted:
            text = f"expected an {wanted} value as indicated by `ipFamilies[{index}]`"
            yield invalid_value(f"{_PATH}[{index}]", one, text)


def validate_address_change(service: Object, old: Object) -> Iterator[FieldError]:
    """The errors of changed addresses and families: the primary one is immutable, the secondary one may change."""
    if EXTERNAL_NAME in (type_of(service), type_of(old)) or (is_headless(service) and is_headless(old)):
        yield from ()
    else:
        yield from _address_changes(service, old)
    if EXTERNAL_NAME not in (type_of(service), type_of(old)):
        yield from _family_changes(service, old)


def _address_changes(service: Object, old: Object) -> Iterator[FieldError]:
    now, before = service["spec"].get("clusterIPs") or [], at(old, "spec", "clusterIPs") or []
    if len(now) == len(before):
        for index, one in enumerate(before):
            if one != now[index]:
                yield invalid_value(f"{_PATH}[{index}]", strings(now), ONCE)
        return
    if len(before) > len(now) and not now:
        yield invalid_value(f"{_PATH}[0]", strings(now), "primary clusterIP can not be unset")
    elif before and now[0] != before[0]:
        yield invalid_value(f"{_PATH}[0]", strings(now), ONCE)
    if len(before) > len(now) == 1 and service["spec"].get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid_value("spec.ipFamilyPolicy", service["spec"].get("ipFamilyPolicy"), text)


def _family_changes(service: Object, old: Object) -> Iterator[FieldError]:
    if is_headless(service) or is_headless(old):
        return
    first = "spec.ipFamilies[0]"
    now, before = service["spec"].get("ipFamilies") or [], at(old, "spec", "ipFamilies") or []
    addresses = service["spec"].get("clusterIPs") or []
    if len(now) == len(before):
        yield from (invalid_value(first, _families_shown(now), ONCE) for _ in range(sum(map(ne, before, now))))
        return
    if len(before) > len(now) and not addresses:
        yield invalid_value(first, _families_shown(now), "primary ipFamily can not be unset")
    if now and before and now[0] != before[0]:
        yield invalid_value(first, strings(addresses), ONCE)
    if len(before) > len(now) == 1 and service["spec"].get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield invalid_value("spec.ipFamilyPolicy", service["spec"].get("ipFamilyPolicy"), text)


def _families_shown(families: Sequence[str]) -> Shown:
    return texts(families or None, "core.IPFamily")
