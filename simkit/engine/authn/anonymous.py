"""Identity of unauthenticated requests.

References
----------
k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.identity import ANONYMOUS, UNAUTHENTICATED, Identity

ANONYMOUS_IDENTITY: Final = Identity(ANONYMOUS, (UNAUTHENTICATED,))
"""Identity of unauthenticated requests."""
