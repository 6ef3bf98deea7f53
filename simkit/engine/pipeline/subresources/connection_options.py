"""The options of connections: query parameters, read and checked as kube-apiserver does.

Follows ``pkg/apis/core/v1/zz_generated.conversion.go`` (which parameters are read, in which order) and
``ValidatePodLogOptions`` of ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.meta.errors import bad_request, invalid
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.meta.go_number import parse_int, parse_uint
from simkit.meta.message import Request
from simkit.meta.names import GroupKind
from simkit.schema.time_and_bytes import canonical_time

_NEGATIVE: Final = "must be greater than or equal to 0"
_NOT_POSITIVE: Final = "must be greater than 0"
_BOTH: Final = "at most one of `sinceTime` or `sinceSeconds` may be specified"


def _moment(text: str) -> str | None:
    return canonical_time(text) if text not in ("", "null") else None


def requested_ports(request: Request) -> list[int]:
    """The ports of a portforward, also several in one parameter. Raises 400."""
    try:
        return [parse_uint(text, bits=16) for given in request.query.get("ports", ()) for text in given.split(",")]
    except ValueError as error:
        raise bad_request(f"cannot convert to []int32: {error}") from None


_READ: Final[Mapping[str, Mapping[str, Callable[[str], Any]]]] = {
    "log": {"sinceSeconds": parse_int, "sinceTime": _moment, "tailLines": parse_int, "limitBytes": parse_int},
}
"""The parsed parameters of connections; others are texts, or booleans."""


def connection_options(request: Request, subresource: str) -> dict[str, Any]:
    """The parameters of a connection that are numbers or times, and the list of ports.

    Raises
    ------
    StatusError
        400 for a value that cannot be read, with Go's words; a dry run is none that a connection can make.
    """
    if request.option("dryRun") and subresource != "log":
        raise bad_request("dryRun is not supported")
    options: dict[str, Any] = {}
    for name, read in _READ.get(subresource, {}).items():
        for text in request.query.get(name, ())[:1]:
            try:
                options[name] = read(text)
            except ValueError as error:
                raise bad_request(str(error)) from None
    if subresource == "portforward":
        options["ports"] = requested_ports(request)
    return options


def check_log_options(options: Mapping[str, Any], name: str) -> None:
    """Raise the 422 of invalid options for the log of a pod, with all errors."""
    errors: list[FieldError] = []
    tail, limit, seconds = (options.get(field) for field in ("tailLines", "limitBytes", "sinceSeconds"))
    if tail is not None and tail < 0:
        errors.append(invalid_value("tailLines", tail, _NEGATIVE))
    if limit is not None and limit < 1:
        errors.append(invalid_value("limitBytes", limit, _NOT_POSITIVE))
    if seconds is not None and "sinceTime" in options:
        errors.append(forbidden_field("[]", _BOTH))
    elif seconds is not None and seconds < 1:
        errors.append(invalid_value("sinceSeconds", seconds, _NOT_POSITIVE))
    if errors:
        raise invalid(GroupKind("", "PodLogOptions"), name, errors)
