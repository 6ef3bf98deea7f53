"""Calls extenders over HTTP, where the egress policy of the cluster allows it.

Upstream: pkg/scheduler/extender.go (``send``), release 1.30.
"""

from __future__ import annotations

from dataclasses import replace

from simkit.engine.egress.call import Caller, CallFailed
from simkit.engine.egress.policy import EgressPolicy, SkippedCall
from simkit.meta.turns import TURNS
from simkit.simulation.scheduler.extender_config import Extender
from simkit.simulation.scheduler.extenders import ExtenderError


class ExtenderClient:
    """Posts documents to extenders.

    Parameters
    ----------
    egress
        Whether they may be called; where they may not, the call is noted.
    """

    def __init__(self, egress: EgressPolicy) -> None:
        self._egress = egress

    def __call__(self, extender: Extender, verb: str, body: bytes) -> bytes | None:
        """The answer, of at most 16 MB; None where it may not be called. Raises ExtenderError."""
        url = f"{extender.url.rstrip('/')}/{verb}"
        if not self._egress.allowed:
            self._egress.note(SkippedCall("extender", extender.url, url, verb))
            return None
        scheme = url.partition("://")[0] if "://" in url else ""
        if scheme.lower() not in ("http", "https"):
            raise ExtenderError(f'Post "{url}": unsupported protocol scheme "{scheme}"')
        try:
            with TURNS.left():
                return Caller(replace(extender.endpoint, url=url), extender.timeout).post(body)
        except CallFailed as error:
            if error.status:
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {error.status}") from error
            raise ExtenderError(f'Post "{url}": {error.__cause__}') from error
        except ValueError as error:
            raise ExtenderError(f'parse "{url}": {error}') from error
