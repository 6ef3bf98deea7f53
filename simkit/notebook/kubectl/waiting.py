"""kubectl wait: a condition of objects, reached by controllers and simulated nodes.

Upstream: k8s.io/kubectl/pkg/cmd/wait, release 1.32.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.meta.clock import SystemClock
from simkit.meta.duration import nanoseconds
from simkit.meta.go_fmt import format_value
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.json_paths import relaxed, values_at
from simkit.notebook.kubectl.selection import named, title

_STEP: Final = 1.0
"""Seconds by which a simulated clock is turned between two looks."""
_PAUSE: Final = 0.05
"""Seconds between two looks where the clock is the machine's."""
Reached = Callable[[Mapping[str, Any] | None], bool]


def wait(client: Client, args: Namespace, stdin: str) -> str:
    """A line for each object that reached the condition of ``--for``.

    A simulated clock is turned by up to ``--timeout``; else that time is waited for. Raises KubectlError at the end.
    """
    reached = _condition(args.for_)
    seconds = _seconds(args.timeout)
    found = named(client, args)
    if not found and args.for_ != "delete":
        raise KubectlError("error: no matching resources found")
    text, errors = "", ""
    for resource, namespace, name in found:
        path = client.path(resource, namespace, name)
        if args.for_ not in ("delete", "create") and client.live(path) is None:
            client.ask("GET", path)  # raises with the server's message
        if args.for_ == "delete" and client.live(path) is None:
            continue
        if _comes(client, path, reached, seconds):
            text += f"{title(resource, name)} condition met\n"
        elif not seconds:
            errors += f"error: condition not met for {resource.resource}/{name}\n"
        else:
            errors += f"error: timed out waiting for the condition on {resource.resource}/{name}\n"
    if errors:
        raise KubectlError((text + errors).removesuffix("\n"))
    return text


def _seconds(text: str) -> float:
    """The seconds of a duration such as ``30s``. Raises KubectlError for another text."""
    try:
        return nanoseconds(text or "30s") / 1e9
    except ValueError:
        raise KubectlError(f'error: invalid argument "{text}" for "--timeout" flag; next: --timeout=30s') from None


def _comes(client: Client, path: str, reached: Reached, seconds: float) -> bool:
    """True if a condition holds before the time is over."""
    clock, waited = client.cluster.clock, 0.0
    while True:
        client.cluster.settle()
        if reached(client.live(path)):
            return True
        if waited >= seconds:
            return False
        if isinstance(clock, SystemClock):
            time.sleep(_PAUSE)
            waited += _PAUSE
        else:
            client.cluster.advance(_STEP)
            waited += _STEP


def _condition(wanted: str) -> Reached:
    """The condition that ``--for`` states. Raises KubectlError for a form that is not known."""
    form, _, rest = wanted.partition("=")
    if wanted == "delete":
        return lambda obj: obj is None
    if wanted == "create":
        return lambda obj: obj is not None
    if form == "condition" and rest:
        kind, _, status = rest.partition("=")
        return lambda obj: _has(obj, kind, status or "true")
    if form == "jsonpath" and rest:
        path, _, value = rest.rpartition("}=") if "}=" in rest else (rest.rstrip("}"), "", None)
        steps = relaxed(path.lstrip("{"))
        return lambda obj: _is_at(obj, steps, value)
    raise KubectlError(
        f'error: unrecognized condition: "{wanted}"; next: --for=condition=Ready, --for=delete, --for=create or '
        f"--for=jsonpath='{{.status.phase}}'=Running"
    )


def _has(obj: Mapping[str, Any] | None, kind: str, status: str) -> bool:
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return any(
        each["type"].lower() == kind.lower() and str(each.get("status", "")).lower() == status.lower()
        for each in conditions
    )


def _is_at(obj: Mapping[str, Any] | None, path: str, value: str | None) -> bool:
    found = values_at(obj or {}, path, "error parsing jsonpath")
    if value is None:
        return bool(found)
    return len(found) == 1 and format_value(found[0]) == value.strip("'\"")
