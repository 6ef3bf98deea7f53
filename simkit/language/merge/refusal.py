"""The errors of patches and applies, as the Status that a client receives.

Upstream: k8s.io/apimachinery/pkg/api/errors/errors.go and k8s.io/apiserver/pkg/endpoints/handlers/patch.go, release
1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.errors import StatusError

GENERIC: Final = "the server rejected our request due to an error in our request"
"""The only text that clients get for a patch that does not fit the object."""


class PatchError(StatusError):
    """A patch that cannot be applied. ``detail`` is the reason, even if the Status does not say it."""

    def __init__(
        self, code: int, reason: str, message: str, detail: str = "", *, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(code, reason, message, details=details)
        self.detail = detail or message


def malformed(message: str) -> PatchError:
    """The 400 error of a patch with a wrong form."""
    return PatchError(400, "BadRequest", message)


def unfitting(detail: str) -> PatchError:
    """The 422 error of a patch that does not fit the object. The Status does not contain the detail."""
    return PatchError(422, "Invalid", GENERIC, detail, details={})


def failed(message: str) -> PatchError:
    """The 500 error without a reason that kube-apiserver passes on unchanged."""
    return PatchError(500, "", message)
