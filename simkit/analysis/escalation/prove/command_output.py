"""The output of a command that a request has run in a container of a simulated node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from simkit.meta.errors import StatusError
from simkit.meta.message import Response

_OPENED: Final = 101
_MOST_TURNS: Final = 100
_REQUEST: Final = b"GET / HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n"


class _Process(Protocol):
    """The process behind a connection."""

    @property
    def exit_code(self) -> int | None: ...

    def poll(self) -> Sequence[tuple[str, bytes]]: ...

    def feed(self, data: bytes) -> None: ...


def output_of(answer: Response, given: str = "") -> str | None:
    """The output of a command that ran to its end without a fault; None where none ran.

    Parameters
    ----------
    answer
        That to the request which ran the command.
    given
        A line that is typed to a process which goes on after it.

    Examples
    --------
    >>> output_of(Response(200, b"root\\n")), output_of(Response(503, b"no route to host"))
    ('root', None)
    """
    if answer.status != _OPENED:
        return answer.body.decode("utf-8", "replace").strip() if answer.succeeded else None
    process = _process_of(answer)
    if process is None:
        return None
    if given:
        list(_printed(process))  # what was printed before answers no line
        process.feed(given.encode())
    printed = b"".join(_printed(process)).decode("utf-8", "replace").strip()
    return printed if process.exit_code == 0 or (given and process.exit_code is None) else None


def is_carried_out(answer: Response, port: int = 80) -> bool:
    """True if what a request asks of a node or pod is done: it is answered, a command has ended, or a port answers.

    Examples
    --------
    >>> is_carried_out(Response(200, b"a line of the log")), is_carried_out(Response(503, b"no route to host"))
    (True, False)
    """
    if answer.status != _OPENED:
        return answer.succeeded
    process, listener = _process_of(answer), getattr(answer.upgrade, "handler", None)
    if listener is not None:
        try:
            return bool(listener(port)(_REQUEST))
        except StatusError:  # nothing listens there
            return False
    return process is not None and process.exit_code is not None


def _process_of(answer: Response) -> _Process | None:
    found: _Process | None = getattr(answer.upgrade, "process", None)
    return found


def _printed(process: _Process) -> Iterator[bytes]:
    for _ in range(_MOST_TURNS):
        yield from (data for stream, data in process.poll() if stream == "stdout")
        if process.exit_code is not None:
            return
