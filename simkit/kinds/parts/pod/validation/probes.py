"""Validation of probes and lifecycle handlers.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.parts.validation.ip import validate_port, validate_port_or_name
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.objects import Object

_HEADER: Final = re.compile("[-A-Za-z0-9]+")
_HEADER_RULE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)
_TIMES: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_IN_PROBES: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_IN_LIFECYCLES: Final = ("exec", "httpGet", "tcpSocket", "sleep")


def validate_handler(path: str, handler: Object, names: tuple[str, ...], grace: int | None) -> Iterator[FieldError]:
    """The errors of a handler, of which there must be exactly one."""
    count = 0
    for name in names:
        action = handler.get(name)
        if action is None:
            continue
        count += 1
        if count > 1:
            yield forbidden_field(f"{path}.{name}", "may not specify more than 1 handler type")
        else:
            yield from _validate_action(f"{path}.{name}", name, action, grace)
    if not count:
        yield required(path, "must specify a handler type")


def _validate_action(path: str, name: str, action: Object, grace: int | None) -> Iterator[FieldError]:
    if name == "exec" and not action.get("command"):
        yield required(f"{path}.command")
    elif name == "httpGet":
        yield from _validate_http(path, action)
    elif name == "tcpSocket":
        yield from validate_port_or_name(f"{path}.port", action.get("port"))
    elif name == "grpc":
        yield from validate_port(f"{path}.port", action.get("port") or 0)
    elif name == "sleep":
        yield from _validate_sleep(path, action.get("seconds") or 0, grace)


def _validate_sleep(path: str, seconds: int, grace: int | None) -> Iterator[FieldError]:
    may_be_zero = applies("sleep-of-zero-seconds")
    if grace is None or (0 if may_be_zero else 1) <= seconds <= grace:
        return
    least, end = "must be non-negative" if may_be_zero else "must be greater than 0", ""
    if not may_be_zero and applies("sleep-error-names-gate"):
        end = ". Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
    yield invalid_value(path, seconds, f"{least} and less than terminationGracePeriodSeconds ({grace}){end}")


def _validate_http(path: str, action: Object) -> Iterator[FieldError]:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from validate_port_or_name(f"{path}.port", action.get("port"))
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        yield unsupported(f"{path}.scheme", scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        if not _HEADER.fullmatch(name):
            yield invalid_value(f"{path}.httpHeaders", name, _HEADER_RULE)


def validate_lifecycle(path: str, lifecycle: Object | None, grace: int | None) -> Iterator[FieldError]:
    """The errors of the handlers of a container's start and stop."""
    for name in ("postStart", "preStop"):
        handler = (lifecycle or {}).get(name)
        if handler is not None:
            yield from validate_handler(f"{path}.{name}", handler, _IN_LIFECYCLES, grace)


def validate_probes(path: str, container: Object, grace: int | None) -> Iterator[FieldError]:
    """The errors of the three probes of a container."""
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            yield from _validate_probe(f"{path}.{name}", name, probe, grace)


def validate_probes_first(path: str, container: Object) -> Iterator[FieldError]:
    """The errors of the probes of a container before those of its readiness, in the order of early releases."""
    liveness, readiness, startup = (container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe"))
    yield from validate_probe(f"{path}.livenessProbe", liveness)
    if readiness is not None and readiness.get("terminationGracePeriodSeconds") is not None:
        where, own = f"{path}.readinessProbe.terminationGracePeriodSeconds", readiness["terminationGracePeriodSeconds"]
        yield invalid_value(where, own, "must not be set for readinessProbes")
    yield from validate_probe(f"{path}.startupProbe", startup)
    if liveness is not None:
        yield from _validate_threshold(f"{path}.livenessProbe", liveness)
    yield from validate_probe(f"{path}.startupProbe", startup)
    if startup is not None:
        yield from _validate_threshold(f"{path}.startupProbe", startup)


def validate_probe(path: str, probe: Object | None) -> Iterator[FieldError]:
    """The errors of a probe, whatever it is for."""
    if probe is not None:
        yield from _validate_any(path, probe, None)


def _validate_any(path: str, probe: Object, grace: int | None) -> Iterator[FieldError]:
    yield from validate_handler(path, probe, _IN_PROBES, grace)
    for time in _TIMES:
        yield from validate_nonnegative(f"{path}.{time}", probe.get(time) or 0)


def _validate_threshold(path: str, probe: Object) -> Iterator[FieldError]:
    if (probe.get("successThreshold") or 0) != 1:
        yield invalid_value(f"{path}.successThreshold", probe.get("successThreshold") or 0, "must be 1")


def _validate_probe(path: str, name: str, probe: Object, grace: int | None) -> Iterator[FieldError]:
    yield from _validate_any(path, probe, grace)
    own: Any = probe.get("terminationGracePeriodSeconds")
    if own is not None and own <= 0:
        yield invalid_value(f"{path}.terminationGracePeriodSeconds", own, "must be greater than 0")
    if name == "readinessProbe":
        if own is not None:
            text = "must not be set for readinessProbes"
            yield invalid_value(f"{path}.terminationGracePeriodSeconds", own, text)
    else:
        yield from _validate_threshold(path, probe)
