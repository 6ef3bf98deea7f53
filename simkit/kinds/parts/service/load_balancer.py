"""Validation and printing of the load balancer status of Services and Ingresses.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.validation.ip import address, validate_ip
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object

_MODES: Final = ("Proxy", "VIP")


def validate_load_balancer_status(path: str, status: Object, *, modes: bool) -> Iterator[FieldError]:
    """The errors of a load balancer's ingress points; ``modes`` says whether each needs a mode."""
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    for index, point in enumerate(points):
        where, ip, name = f"{path}.ingress[{index}]", point.get("ip") or "", point.get("hostname") or ""
        if ip:
            yield from validate_ip(f"{where}.ip", ip, formerly="must be a valid IP address")
        if modes and applies("modes-of-addresses"):
            yield from _validate_mode(where, ip, point.get("ipMode"))
        if name:
            yield from (invalid_value(f"{where}.hostname", name, text) for text in dns_subdomain(name))
            if address(name) is not None:
                yield invalid_value(f"{where}.hostname", name, "must be a DNS name, not an IP address")


def _validate_mode(where: str, ip: str, mode: str | None) -> Iterator[FieldError]:
    if ip and mode is None:
        yield required(f"{where}.ipMode", "must be specified when `ip` is set")
    elif not ip and mode is not None:
        yield forbidden_field(f"{where}.ipMode", "may not be specified when `ip` is not set")
    elif mode is not None and mode not in _MODES:
        yield unsupported(f"{where}.ipMode", mode, _MODES)


def reached_at(status: Object) -> list[str]:
    """The distinct addresses and host names of a load balancer, sorted."""
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    return sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})
