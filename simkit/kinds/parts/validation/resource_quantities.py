"""Validation of resource names and quantities, and quantities as Go prints them.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.meta import domain
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, Shown, invalid_value
from simkit.meta.integers import parse_int
from simkit.meta.name_validation import qualified_name
from simkit.meta.quantity import NANO, Quantity, canonical, parse

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
NOT_INTEGER: Final = "must be an integer"
_INTEGERS: Final = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"}
    | {"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
)
_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_REQUESTS: Final = frozenset(f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER)
_STANDARD: Final = _CONTAINER | _REQUESTS | _INTEGERS | {"requests.storage", "storage"}
_QUOTA: Final = _STANDARD - {"storage"}
_HUGE: Final = "hugepages-"
_POWERS: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def shown(text: str) -> Shown:
    """A quantity as Go prints the struct, which by then has its text."""
    value, scale, _, family = parts_of(text, stored=False)
    kept = "" if _was_fraction(text) else text
    return Shown(
        f"resource.Quantity{{i:resource.int64Amount{{value:{value}, scale:{scale}}}, "
        f'd:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{kept}", Format:"{family}"}}',
        canonical(text),
    )


def parts_of(text: str, *, stored: bool) -> tuple[int, int, str, str]:
    """Go's fields of a quantity: number, power of ten, the text if it is kept, format.

    ``stored`` tells that it was read from its canonical form. A new one may have been written as a decimal fraction.
    """
    quantity, fraction = parse(text), not stored and _was_fraction(text)
    value, scale = _scaled(text, quantity)
    while fraction and value % 10 == 0:
        value, scale = value // 10, scale + 1
    return value, scale, "" if fraction else quantity.written, quantity.format


def _was_fraction(text: str) -> bool:
    """True if an amount was probably written as a decimal fraction: ``1.5`` is stored as ``1500m``."""
    return text.endswith("m") and abs(parse(text).nano) > NANO


def _scaled(text: str, quantity: Quantity) -> tuple[int, int]:
    if quantity.format == "BinarySI":
        return quantity.whole, 0
    digits = text.rstrip("numkMGTPE")
    value = parse_int(digits)
    if value is None:
        return quantity.whole, 0
    return value, _POWERS.get(text[len(digits) :], 0)


def validate_nonnegative_quantity(behaviour: ServedBehaviour, path: str, text: str) -> Errors:
    """The error of a negative quantity."""
    if parse(text).nano < 0:
        yield invalid_value(path, text, NOT_NEGATIVE)


def validate_resource_quantity(behaviour: ServedBehaviour, path: str, resource: str, text: str) -> Errors:
    """The errors of an amount of a resource."""
    yield from validate_nonnegative_quantity(behaviour, path, text)
    if is_counted(resource) and parse(text).nano % NANO:
        yield invalid_value(path, shown(text), NOT_INTEGER)


def is_counted(resource: str) -> bool:
    """True if a resource has only whole amounts."""
    return resource in _INTEGERS or is_extended(resource)


def is_native(resource: str) -> bool:
    """True if a resource is one of the project's own."""
    return "/" not in resource or resource.partition("/")[0].endswith(domain.LABEL_DOMAIN)


def is_extended(resource: str) -> bool:
    """True if a resource is an extended one of nodes."""
    return not is_native(resource) and not resource.startswith("requests.") and not qualified_name(resource)


def validate_resource_name(behaviour: ServedBehaviour, path: str, resource: str) -> Errors:
    """The errors of the name of a resource of any kind."""
    wrong = qualified_name(resource)
    yield from (invalid_value(path, bare(behaviour, resource), text) for text in wrong)
    if not wrong and "/" not in resource and resource not in _STANDARD and not _is_huge_request(resource):
        yield invalid_value(path, bare(behaviour, resource), "must be a standard resource type or fully qualified")


def validate_container_resource_name(behaviour: ServedBehaviour, path: str, resource: str) -> Errors:
    """The errors of the name of a resource that containers ask for."""
    return _for_containers(behaviour, path, resource, list(validate_resource_name(behaviour, path, resource)))


def validate_metric_resource_name(behaviour: ServedBehaviour, path: str, resource: str) -> Errors:
    """The same for the name of a metric, which stands in quotes where it is no name at all."""
    wrong = [invalid_value(path, resource, text) for text in qualified_name(resource)]
    return _for_containers(behaviour, path, resource, wrong or list(validate_resource_name(behaviour, path, resource)))


def _for_containers(behaviour: ServedBehaviour, path: str, resource: str, errors: Sequence[FieldError]) -> Errors:
    yield from errors
    if "/" not in resource and resource not in _CONTAINER and not resource.startswith(_HUGE):
        yield invalid_value(path, bare(behaviour, resource), "must be a standard resource for containers")
    elif not is_native(resource) and not errors and not is_extended(resource):
        yield invalid_value(path, bare(behaviour, resource), "doesn't follow extended resource name standard")


def validate_quota_resource_name(behaviour: ServedBehaviour, path: str, resource: str) -> Errors:
    """The errors of the name of a resource that a quota limits."""
    yield from validate_resource_name(behaviour, path, resource)
    if "/" not in resource and resource not in _QUOTA and not _is_huge_request(resource):
        yield invalid_value(path, bare(behaviour, resource), "must be a standard resource for quota")


def is_standard_quota(resource: str) -> bool:
    """True if a resource has a quota in every cluster."""
    return resource in _QUOTA or _is_huge_request(resource)


def _is_huge_request(resource: str) -> bool:
    return resource.startswith((_HUGE, f"requests.{_HUGE}"))


def bare(behaviour: ServedBehaviour, resource: str) -> Shown | str:
    """A name without quotes, as Go prints its type; up to 1.28 it is a text."""
    return Shown(resource, resource) if behaviour.applies("names-of-resources-bare") else resource


def compare(one: str, other: str) -> int:
    """Negative, zero or positive if the first amount is less than, equal to or more than the second."""
    return parse(one).nano - parse(other).nano
