"""Answers as bytes of HTTP/1.1."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from simkit.engine.http.message import audit_id, header_lines
from simkit.meta.message import Request, Response

JOIN_BELOW: Final = 64 * 1024
"""Bytes of a body up to which copying it behind its head is cheaper than a second write."""


def response_bytes(
    request: Request, response: Response, defaults: Iterable[tuple[bytes, bytes]], *, keep_alive: bool
) -> list[bytes]:
    """The bytes to write: head and body in one piece, or in two if the body is large.

    Parameters
    ----------
    request
        The request, whose audit ID is returned; the answer to HEAD has no body.
    response
        The answer.
    defaults
        Headers of every answer.
    keep_alive
        True if the connection stays open.
    """
    head = [_status_line(response.status)]
    for name, value in defaults:
        head += (name, b": ", value, b"\r\n")
    head.append(header_lines(response, audit_id(request), length=len(response.body)))
    head.append(b"\r\n" if keep_alive else b"connection: close\r\n\r\n")
    body = b"" if request.method == "HEAD" else response.body
    if len(body) <= JOIN_BELOW:
        head.append(body)
        return [b"".join(head)]
    return [b"".join(head), body]


@lru_cache(maxsize=128)
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()
