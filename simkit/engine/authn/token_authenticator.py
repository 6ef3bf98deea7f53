"""Protocol and answer of authenticators of tokens that name their audiences.

References
----------
k8s.io/apiserver/pkg/authentication/authenticator/interfaces.go (``Token``, ``Response``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from simkit.meta.identity import Identity


class InvalidToken(Exception):
    """A token that is not good, or not for this audience; the text says why."""


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """Whose token it is, and those of the asked audiences that it is for."""

    identity: Identity
    audiences: tuple[str, ...]


@runtime_checkable
class TokenAuthenticator(Protocol):
    """Knows for whom tokens are meant."""

    def verify(self, token: str, audiences: Sequence[str] = ()) -> TokenResponse | None:
        """Whose token it is and for which of the audiences (default: this server's own).

        None where it is not my kind of token. Raises InvalidToken where it is, and bad.
        """
        ...
