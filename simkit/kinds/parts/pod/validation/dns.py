"""Validation of the DNS policy and DNS configuration of a pod.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.validation.ip import SHORT_ADDRESS, validate_ip
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_subdomain, dns_subdomain_with_underscore
from simkit.meta.objects import Object

_MOST_SERVERS: Final = 3
_SEARCHES: Final = (6, 256)
_MORE_SEARCHES: Final = (32, 2048)
"""The largest number of search domains, and their longest length together."""


def validate_dns(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the ``dnsConfig`` of a pod spec."""
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", text)
            return
    if config is not None:
        yield from _validate_config(path, config)


def _validate_config(path: str, config: Object) -> Iterator[FieldError]:
    servers, searches = config.get("nameservers") or (), config.get("searches") or ()
    if len(servers) > _MOST_SERVERS:
        text = f"must not have more than {_MOST_SERVERS} nameservers"
        yield invalid_value(f"{path}.nameservers", texts(servers), text)
    for index, server in enumerate(servers):
        yield from validate_ip(f"{path}.nameservers[{index}]", server, formerly=SHORT_ADDRESS)
    most, longest = _MORE_SEARCHES if applies("more-dns-searches") else _SEARCHES
    if len(searches) > most:
        text = f"must not have more than {most} search paths"
        yield invalid_value(f"{path}.searches", texts(searches), text)
    if len(" ".join(searches)) > longest:
        text = f"must not have more than {longest} characters (including spaces) in the search list"
        yield invalid_value(f"{path}.searches", texts(searches), text)
    for index, search in enumerate(searches):
        domain = search.removesuffix(".")
        rule: Callable[[str], Sequence[str]] = dns_subdomain
        if applies("relaxed-dns-searches"):
            if search == ".":
                continue
            rule = dns_subdomain_with_underscore
        yield from (invalid_value(f"{path}.searches[{index}]", domain, text) for text in rule(domain))
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")
