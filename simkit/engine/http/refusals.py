"""Requests that Go's HTTP server refuses before any handler sees them, and its answers.

References
----------
``(*conn).serve`` and ``(*conn).readRequest`` of net/http/server.go, Go 1.22.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

UNSUPPORTED_VERSION: Final = (505, ": unsupported protocol version")
_HOST: Final = re.compile(rb"[0-9A-Za-z!$%&'()*+,\-.:;=\[\]_~]*")
"""``ValidHostHeader`` of golang.org/x/net/http/httpguts."""
_UNSUPPORTED_CODING: Final = (
    b"HTTP/1.1 501 Not Implemented\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n"
    b"Unsupported transfer encoding"
)
_EXPECTATION_FAILED: Final = b"HTTP/1.1 417 Expectation Failed\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_OTHER_VERSION: Final = re.compile(rb"\A(?!PRI )[A-Z]+ [^ \r\n]+ HTTP/[02-9]\.[0-9]\r?\n")
_BROKEN: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
"""A percent sign in a path that is not followed by two digits."""


def refusal(status: int, why: str = "") -> bytes:
    """The answer to a request that cannot be served; the connection ends after it.

    Examples
    --------
    >>> refusal(400, ": missing required Host header").split(b"\\r\\n")[0]
    b'HTTP/1.1 400 Bad Request: missing required Host header'
    """
    text = f"{status} {HTTPStatus(status).phrase}{why}".encode()
    head = b"HTTP/1.1 %s\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n%s"
    return head % (text, text)


def message_refusal(version: str, headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The answer to a request whose body is coded, or that expects anything but 100-continue; None without these.

    The one coding is a single ``chunked``, and only HTTP/1.1 has it: whoever reads another one differently would take
    the body for the next request.

    References
    ----------
    ``parseTransferEncoding`` of net/http/transfer.go, Go 1.22. Go reads the head of HTTP/1.0 as if it named no coding.

    Examples
    --------
    >>> message_refusal("1.1", [(b"transfer-encoding", b"gzip, chunked")]).split(b"\\r\\n")[0]
    b'HTTP/1.1 501 Not Implemented'
    >>> message_refusal("1.1", [(b"transfer-encoding", b"Chunked")])
    """
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and version == "1.0":
        return refusal(400)
    if codings and codings != [b"chunked"]:
        return _UNSUPPORTED_CODING
    expected = [value.lower() for name, value in headers if name == b"expect"]
    return _EXPECTATION_FAILED if expected and expected[0] not in (b"", b"100-continue") else None


def is_other_version(data: bytes) -> bool:
    """True for a request line of another major version of HTTP than 1."""
    return _OTHER_VERSION.search(data) is not None


def has_broken_path(url: bytes) -> bool:
    """True for a target whose path has a percent sign without two digits behind it."""
    return b"%" in url and _BROKEN.search(url.partition(b"?")[0]) is not None


def host_refusal(method: bytes, version: str, hosts: Sequence[bytes]) -> tuple[int, str] | None:
    """The status and reason for a version and Host headers that are not accepted; None if they are.

    Another major version than 1 is refused, as are no Host in 1.1, several, and a malformed one.
    """
    if version not in ("1.0", "1.1"):
        return UNSUPPORTED_VERSION
    if version == "1.1" and not hosts and method != b"CONNECT":
        return 400, ": missing required Host header"
    if len(hosts) > 1:
        return 400, ": too many Host headers"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return 400, ": malformed Host header"
    return None
