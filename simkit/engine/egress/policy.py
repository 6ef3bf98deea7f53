"""The egress policy of a server: whether calls may leave the process, and the addresses of services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from simkit.engine.seams import Meter, Unmetered
from simkit.meta.errors import SimkitError

WebhookFunction = Callable[[dict[str, Any]], Any]
"""A function in place of a webhook: from an admission request to its answer."""
ConversionFunction = Callable[[dict[str, Any], str], Any]
"""A function in place of a conversion webhook: from an object and an apiVersion to the converted object."""
_MOST_NOTES: Final = 10_000


@dataclass(frozen=True, slots=True)
class SkippedCall:
    """A call that was not made: its kind, its target and its subject."""

    kind: str
    name: str
    target: str
    about: str


class EgressPolicy:
    """The egress policy of one server.

    Parameters
    ----------
    allowed
        Whether connections may be opened. Where they may not, what would have been called is noted.
    services
        Addresses of services by ``namespace/name`` or ``namespace/name:port``, such as ``127.0.0.1:8443``.
    functions
        Functions that stand in for webhooks, by the webhook's name; they are called in any case.
    conversions
        Functions that stand in for conversion webhooks, by the name of the definition; called in any case too.

    Attributes
    ----------
    uncalled
        Calls that were not made, oldest first; at most ten thousand are kept.
    meter
        Counts calls of webhooks.
    """

    def __init__(
        self,
        *,
        allowed: bool = True,
        services: Mapping[str, str] | None = None,
        functions: Mapping[str, WebhookFunction] | None = None,
        conversions: Mapping[str, ConversionFunction] | None = None,
    ) -> None:
        self.allowed = allowed
        self.services: dict[str, str] = dict(services or {})
        self.functions: dict[str, WebhookFunction] = dict(functions or {})
        self.conversions: dict[str, ConversionFunction] = dict(conversions or {})
        self.uncalled: list[SkippedCall] = []
        self.meter: Meter = Unmetered()

    def __repr__(self) -> str:
        return f"<EgressPolicy, {'open' if self.allowed else 'closed'}, {len(self.uncalled)} calls not made>"

    def fork(self) -> EgressPolicy:
        """The policy of a fork, which makes no calls by default."""
        return EgressPolicy(
            allowed=False, services=self.services, functions=self.functions, conversions=self.conversions
        )

    def note(self, call: SkippedCall) -> None:
        """Record a call that was not made."""
        if len(self.uncalled) < _MOST_NOTES:
            self.uncalled.append(call)

    def address(self, namespace: str, name: str, port: int) -> tuple[str, int] | None:
        """Host and port of a service; None if they are unknown. Raises SimkitError for an invalid address.

        Examples
        --------
        >>> EgressPolicy(services={"ops/hook": "127.0.0.1:8443"}).address("ops", "hook", 443)
        ('127.0.0.1', 8443)
        """
        where = f"{namespace}/{name}"
        given = self.services.get(f"{where}:{port}") or self.services.get(where)
        if given is None:
            return None
        parts = urlsplit(given if "//" in given else f"//{given}")
        try:
            found = parts.port
        except ValueError:
            found = None
        if not parts.hostname or found is None:
            raise SimkitError(f"the address {given!r} of service {where} is no host:port")
        return parts.hostname, found
