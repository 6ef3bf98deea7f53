"""A key that is known to be good is read for the first token, not at the start of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simkit.engine.authn.jws import Signer, VerificationKey


class LateSigner:
    """Signs claims with a key that is read when the first token is signed or verified.

    Parameters
    ----------
    load
        Reads the key. It may raise SimkitError, which every use of the key then raises.

    Notes
    -----
    Reading a key imports cryptography, a sixth of the memory of a server at rest and much of its start.
    """

    def __init__(self, load: Callable[[], Signer]) -> None:
        self._load = load

    @cached_property
    def _signer(self) -> Signer:
        return self._load()

    @property
    def public(self) -> VerificationKey:
        """The public half of the key."""
        return self._signer.public

    def sign(self, claims: Mapping[str, Any]) -> str:
        """The compact token with the claims."""
        return self._signer.sign(claims)
