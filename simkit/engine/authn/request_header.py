"""Identities from a trusted front proxy in request headers.

References
----------
k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from simkit.engine.authn.x509 import Authorities, verifier_of
from simkit.meta.clock import Clock
from simkit.meta.errors import unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials

_BROKEN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
USER_HEADERS, GROUP_HEADERS, EXTRA_PREFIXES = ("x-remote-user",), ("x-remote-group",), ("x-remote-extra-",)
"""The default names of the headers."""


def extra_key(written: str) -> str:
    """The key of an extra attribute, decoded from the end of a header's name.

    One that is not in percent form throughout is taken as it stands, as on kube-apiserver.

    Examples
    --------
    >>> extra_key("acme.com%2fteam"), extra_key("100%"), extra_key("%zz%2f")
    ('acme.com/team', '100%', '%zz%2f')
    """
    return written if _BROKEN.search(written) else unquote(written)


class RequestHeaders:
    """Trusts the identity headers of a peer with a certificate of the front proxy's authority.

    Parameters
    ----------
    authorities
        Those that vouch for proxies: not those that vouch for users.
    clock
        On which certificates begin and end.
    allowed_names
        Common names that proxies may have; empty for any.
    user_headers, group_headers, extra_prefixes, uid_headers
        Names of headers: the first user header and the first uid header that is set count, all group headers do.
    """

    leaves_process: Final = False

    def __init__(
        self,
        authorities: Authorities,
        clock: Clock,
        *,
        allowed_names: Collection[str] = (),
        user_headers: Sequence[str] = USER_HEADERS,
        group_headers: Sequence[str] = GROUP_HEADERS,
        extra_prefixes: Sequence[str] = EXTRA_PREFIXES,
        uid_headers: Sequence[str] = (),
    ) -> None:
        self._verifier = verifier_of(authorities, clock)
        self._allowed = frozenset(allowed_names)
        self._user_headers = tuple(name.lower() for name in user_headers)
        self._group_headers = tuple(name.lower() for name in group_headers)
        self._uid_headers = tuple(name.lower() for name in uid_headers)
        self._extra_prefixes = tuple(name.lower() for name in extra_prefixes)

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity in the headers; None without a certificate or a user header. Raises 401 for another chain."""
        if not credentials.certificates:
            return None
        proxy = self._verifier.verify(credentials.certificates)
        if self._allowed and (proxy is None or proxy.user not in self._allowed):
            raise unauthorized()
        headers = credentials.headers
        user = next((values[0] for name in self._user_headers if (values := headers.get(name)) and values[0]), "")
        if not user:
            return None
        groups = [value for name in self._group_headers for value in headers.get(name, ()) if value]
        uid = next((values[0] for name in self._uid_headers if (values := headers.get(name)) and values[0]), "")
        return Identity(user, tuple(groups), uid, self._extra(headers))

    def _extra(self, headers: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for name, values in headers.items():
            for prefix in self._extra_prefixes:
                if name.startswith(prefix):
                    found.setdefault(extra_key(name[len(prefix) :]), []).extend(values)
        return {key: tuple(values) for key, values in found.items()}
