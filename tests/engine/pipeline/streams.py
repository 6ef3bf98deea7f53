"""The frames of watches."""

from __future__ import annotations

from simkit.engine.http.request_state import WatchStream


def ready(stream: WatchStream) -> list[bytes]:
    """All frames that are ready: one look takes as many as a few milliseconds allow."""
    found: list[bytes] = []
    while (frames := stream.poll()) or stream.behind:
        found += frames
    return found
