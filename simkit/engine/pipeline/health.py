"""Health endpoints: is the server well, alive, ready?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.exchange import Exchange
from simkit.meta.errors import PlainError, method_not_allowed, no_path
from simkit.meta.message import Response

ENDPOINTS: Final = ("healthz", "livez", "readyz")
_TEXT: Final = "text/plain; charset=utf-8"
_READING: Final = ("GET", "HEAD")


def answer(engine: Engine, exchange: Exchange, endpoint: str, name: str) -> Response:
    """The answer of an endpoint, or of one of its checks."""
    if exchange.request.method not in _READING:
        raise method_not_allowed()
    exchange.routed = f"/{endpoint}"
    checks = dict(engine.parts.health)
    if endpoint != "readyz":
        checks.pop("shutdown", None)
        checks.pop("informer-sync", None)
    if name:
        if name not in checks:
            raise no_path()
        if checks[name]():
            return Response(200, b"ok", _TEXT)
        raise PlainError(500, "internal server error: healthcheck failed\n")
    return _checked(engine, exchange, endpoint, checks)


def _checked(engine: Engine, exchange: Exchange, endpoint: str, checks: dict[str, Callable[[], bool]]) -> Response:
    excluded = list(exchange.request.query.get("exclude", ()))
    lines, failed = [], []
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
            continue
        passes = check()
        engine.metrics.count("kubernetes_healthchecks_total", name, "success" if passes else "error", endpoint)
        if passes:
            lines.append(f"[+]{name} ok")
        else:
            lines.append(f"[-]{name} failed: reason withheld")
            failed.append(name)
    unknown = [f'"{name}"' for name in excluded if name not in checks]
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {','.join(unknown)}")
    text = "\n".join(lines)
    if failed:
        raise PlainError(500, f"{text}\n{endpoint} check failed\n")
    if "verbose" not in exchange.request.query:
        return Response(200, b"ok", _TEXT)
    return Response(200, f"{text}\n{endpoint} check passed\n".encode(), _TEXT)
