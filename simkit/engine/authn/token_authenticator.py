"""The protocol and the response of authenticators of tokens with audiences.

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
    """A token that is invalid, or not for this audience; the text is the reason."""


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """The identity of a token, and those of the requested audiences that it is for."""

    identity: Identity
    audiences: tuple[str, ...]


@runtime_checkable
class TokenAuthenticator(Protocol):
    """An authenticator that knows the audiences of tokens."""

    def verify(self, token: str, audiences: Sequence[str] = ()) -> TokenResponse | None:
        """The identity of a token and its audiences among the given ones (default: this server's own).

        None where it is not my kind of token. Raises InvalidToken where it is, and bad.
        """
        ...
