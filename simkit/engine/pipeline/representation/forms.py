"""The forms of requests and answers, told apart by their headers alone."""

from __future__ import annotations

from typing import Final

from simkit.meta.message import Request

PLAIN: Final = frozenset({"", "application/json", "application/merge-patch+json"})
KEPT: Final = frozenset({"", "*/*", "application/json", "application/json, */*"})
"""Accept headers of clients that get the bytes which are kept."""
NONE: Final = ("",)
_FORMS: Final = ("protobuf", "yaml", "Table", "cbor", "Partial")
"""Forms of bodies and answers whose modules are loaded when the first of them is read or written."""


def form_of(request: Request) -> str:
    """The form of the body or of the answer, whichever needs more; empty for plain JSON."""
    accepted, sent = request.header("accept"), request.header("content-type")
    return next((form for form in _FORMS if form in accepted or form in sent), "")
