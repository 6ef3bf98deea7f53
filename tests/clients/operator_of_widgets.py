"""A small kopf operator, run by the tests as its users run one: ``kopf run``."""

from __future__ import annotations

from typing import Any

import kopf

GROUP, VERSION, PLURAL = "example.com", "v1", "widgets"


@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.update(GROUP, VERSION, PLURAL, field="spec.size")
def sized(spec: Any, body: Any, patch: Any, name: str, **_: Any) -> dict[str, Any]:
    """Tell in the status and by an Event how large the widget is."""
    patch.status["area"] = spec["size"] ** 2
    kopf.info(body, reason="Sized", message=f"{name} is {spec['size']} wide")
    return {"seen": spec["size"]}


@kopf.on.delete(GROUP, VERSION, PLURAL)
def gone(name: str, **_: Any) -> None:
    """Hold the widget by a finalizer until this has run."""


@kopf.daemon(GROUP, VERSION, PLURAL, cancellation_timeout=1.0)
async def ticking(stopped: Any, body: Any, **_: Any) -> None:
    """Say once, by an Event, that it runs, and wait for the end."""
    kopf.info(body, reason="Ticking", message="it ticks")
    await stopped.wait(60)
