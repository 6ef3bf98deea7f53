"""The errors of patches and applies, as the Status that a client receives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.errors import StatusError

GENERIC: Final = "the server rejected our request due to an error in our request"
"""All that clients are told of a patch that does not fit the object."""


class PatchError(StatusError):
    """A patch that cannot be applied. ``detail`` says what was wrong, also where the Status does not."""

    def __init__(
        self, code: int, reason: str, message: str, detail: str = "", *, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(code, reason, message, details=details)
        self.detail = detail or message


def malformed(message: str) -> PatchError:
    """400: the patch itself is not of the right form."""
    return PatchError(400, "BadRequest", message)


def unfitting(detail: str) -> PatchError:
    """422: the patch does not fit the object. The Status keeps the detail to itself."""
    return PatchError(422, "Invalid", GENERIC, detail, details={})


def failed(message: str) -> PatchError:
    """The 500 without a reason of an error that kube-apiserver passes on as it is."""
    return PatchError(500, "", message)
