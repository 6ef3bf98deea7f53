"""The identity of a request that offers no credential."""

from __future__ import annotations

from typing import Final

from simkit.meta.identity import ANONYMOUS, UNAUTHENTICATED, Identity

ANONYMOUS_IDENTITY: Final = Identity(ANONYMOUS, (UNAUTHENTICATED,))
"""Who asks when nobody says who asks."""
