"""Answers of a simulated kubelet in HTTP/1.1."""

from __future__ import annotations

from typing import Final

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


def answered(status: str, kind: str, body: bytes, *, shown: bool = True) -> bytes:
    """An answer of HTTP/1.1; without its body where it is not shown.

    Examples
    --------
    >>> answered("200 OK", "text/plain", b"ok")
    b'HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 2\\r\\n\\r\\nok'
    """
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + (body if shown else b"")


def not_found() -> bytes:
    """The answer of the kubelet's router to a path that it does not know below one that it knows."""
    return answered("404 Not Found", TEXT, b"404: Page Not Found")


def not_allowed() -> bytes:
    """The answer to a method that a path does not have."""
    return answered("405 Method Not Allowed", TEXT, b"405: Method Not Allowed")
