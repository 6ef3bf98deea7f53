"""The output of a command that a request has run in a container of a simulated node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from simkit.meta.message import Response

_OPENED: Final = 101
_MOST_TURNS: Final = 100


class _Process(Protocol):
    """The process behind a connection."""

    @property
    def exit_code(self) -> int | None: ...

    def poll(self) -> Sequence[tuple[str, bytes]]: ...


def output_of(answer: Response) -> str | None:
    """The output of a command that ran to its end without a fault; None where none ran.

    Examples
    --------
    >>> output_of(Response(200, b"root\\n")), output_of(Response(503, b"no route to host"))
    ('root', None)
    """
    if answer.status != _OPENED:
        return answer.body.decode("utf-8", "replace").strip() if answer.succeeded else None
    process: _Process | None = getattr(answer.upgrade, "process", None)
    if process is None:
        return None
    printed = bytearray()
    for _ in range(_MOST_TURNS):
        printed += b"".join(data for stream, data in process.poll() if stream == "stdout")
        if process.exit_code is not None:
            break
    return printed.decode("utf-8", "replace").strip() if process.exit_code == 0 else None
