"""Bootstrap tokens: short-lived tokens of joining nodes, kept as secrets.

References
----------
k8s.io/kubernetes/plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go, release 1.30.
"""

from __future__ import annotations

import hmac
import re
from datetime import datetime
from typing import Final

from simkit.engine.authn.getter import ObjectGetter, secret_value
from simkit.meta.clock import Clock
from simkit.meta.domain import SYSTEM_NAMESPACE, label
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, metadata

SECRET_TYPE: Final = label("token", "bootstrap")
USER_PREFIX: Final = "system:bootstrap:"
BOOTSTRAPPERS: Final = "system:bootstrappers"
_SECRETS: Final = GroupResource("", "secrets")
_TOKEN: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_EXTRA_GROUP: Final = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class BootstrapTokens:
    """Authenticates bearer tokens of the form ``<id>.<secret>`` against the token secrets of the system namespace.

    Parameters
    ----------
    lookup
        How to read a secret as it is now.
    clock
        On which tokens expire.
    """

    leaves_process: Final = False

    def __init__(self, lookup: ObjectGetter, clock: Clock) -> None:
        self._lookup, self._clock = lookup, clock

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity ``system:bootstrap:<id>``; None for anything but a valid bootstrap token."""
        match = _TOKEN.fullmatch(credentials.bearer)
        if match is None:
            return None
        identifier, secret = match.groups()
        stored = self._lookup(_SECRETS, SYSTEM_NAMESPACE, f"bootstrap-token-{identifier}")
        if stored is None or not self._usable(stored, identifier, secret):
            return None
        groups = extra_groups(stored)
        return None if groups is None else Identity(USER_PREFIX + identifier, groups)

    def _usable(self, stored: Object, identifier: str, secret: str) -> bool:
        return (
            not metadata(stored).get("deletionTimestamp")
            and stored.get("type") == SECRET_TYPE
            and hmac.compare_digest(secret_value(stored, "token-secret").encode(), secret.encode())
            and secret_value(stored, "token-id") == identifier
            and not expired(stored, self._clock.now())
            and secret_value(stored, "usage-bootstrap-authentication") == "true"
        )


def expired(secret: Object, now: float) -> bool:
    """True if a token secret is past its expiration. One that cannot be read counts as past, a missing one does not."""
    text = secret_value(secret, "expiration")
    if not text:
        return False
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        return True
    return end.tzinfo is None or end.timestamp() <= now


def extra_groups(secret: Object) -> tuple[str, ...] | None:
    """The groups of a token's identity in order of their names; None if a group is not allowed."""
    text = secret_value(secret, "auth-extra-groups")
    named = set(text.split(",")) if text else set()
    if any(_EXTRA_GROUP.fullmatch(group) is None for group in named):
        return None
    return tuple(sorted({BOOTSTRAPPERS, *named}))
