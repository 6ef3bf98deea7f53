"""Several authenticators as one: the first success decides.

References
----------
k8s.io/apiserver/pkg/authentication/request/union/union.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from simkit.engine.authn.bearer import InvalidToken, TokenAuthenticator, TokenResponse, offers
from simkit.engine.authn.x509 import Authorities, verifier_of
from simkit.meta.clock import Clock
from simkit.meta.errors import StatusError, unauthorized
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, Identity
from simkit.meta.message import Credentials
from simkit.seams import Authenticator

# Identity of unauthenticated requests.
# References: k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go, release 1.30.

ANONYMOUS_IDENTITY: Final = Identity(ANONYMOUS, (UNAUTHENTICATED,))
"""Identity of unauthenticated requests."""


# Identities from a trusted front proxy in request headers.
# References: k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go, release 1.30.

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


class Union:
    """Calls its members in order.

    Parameters
    ----------
    members
        Authenticators, each for one kind of credential.
    anonymous
        Whether a request that offers nothing is ``system:anonymous``; otherwise it is refused.

    Notes
    -----
    A refused credential does not stop the search: a good token beside a bad certificate is accepted, as on
    kube-apiserver. Only when nobody accepts is the request refused, and then even where anonymous requests are allowed.
    """

    def __init__(self, members: Sequence[Authenticator], *, anonymous: bool = True) -> None:
        self._members = tuple(members)
        self._anonymous = anonymous
        self.leaves_process = any(member.leaves_process for member in members)
        """True if finding out who asks may wait for a service outside."""

    def preceded_by(self, first: Authenticator) -> Union:
        """The same with one more member, which is called first."""
        return Union((first, *self._members), anonymous=self._anonymous)

    def authenticate(self, credentials: Credentials) -> Identity:
        """The identity of credentials, with the group ``system:authenticated``. Raises a 401 StatusError."""
        refusal: StatusError | None = None
        for offered in offers(credentials):
            for member in self._members:
                try:
                    identity = member.authenticate(offered)
                except StatusError as error:
                    refusal = refusal or error
                    continue
                if identity is not None:
                    return authenticated(identity)
            if offered.bearer:
                refusal = refusal or unauthorized()
        if refusal is not None:
            raise refusal
        if not self._anonymous:
            raise unauthorized()
        return ANONYMOUS_IDENTITY


def authenticated(identity: Identity) -> Identity:
    """The identity with the group ``system:authenticated``, unless it has that or the unauthenticated one.

    Examples
    --------
    >>> authenticated(Identity("ann", ("devs",))).groups
    ('devs', 'system:authenticated')
    """
    if identity.user == ANONYMOUS or AUTHENTICATED in identity.groups or UNAUTHENTICATED in identity.groups:
        return identity
    return Identity(identity.user, (*identity.groups, AUTHENTICATED), identity.uid, identity.extra)


# Token reviews: the identity of a token, and the audiences it is valid for.
# References: k8s.io/kubernetes/pkg/registry/authentication/tokenreview/storage.go, release 1.30.

_UNKNOWN = "invalid bearer token"


@dataclass(frozen=True, slots=True)
class TokenReviewStatus:
    """The identity of a token with its valid audiences; without identity, ``error`` is the reason."""

    identity: Identity | None
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReviewer:
    """Reviews bearer tokens for other servers.

    Parameters
    ----------
    tokens
        Authenticators of bearer tokens. Those of tokens that name no audience are good for this server's audiences;
        some ask for whom a token is (a ``TokenAuthenticator``).
    accounts
        The verifier of service account tokens, which name theirs.
    audiences
        This server's own audiences.
    """

    def __init__(
        self, tokens: Sequence[Authenticator], accounts: TokenAuthenticator | None, audiences: Sequence[str]
    ) -> None:
        self._tokens, self._accounts, self._audiences = tuple(tokens), accounts, tuple(audiences)

    def review(self, token: str, audiences: Sequence[str] = ()) -> TokenReviewStatus:
        """The identity of a token. ``audiences`` are those for which it must be valid; by default this server's."""
        wanted = tuple(audiences) or self._audiences
        try:
            verified = self._accounts.verify(token, wanted) if self._accounts else None
        except InvalidToken as refusal:
            return TokenReviewStatus(None, (), f"[{_UNKNOWN}, {refusal}]")
        if verified is not None:
            return TokenReviewStatus(authenticated(verified.identity), verified.audiences)
        return self._by_others(token, wanted)

    def _by_others(self, token: str, wanted: Sequence[str]) -> TokenReviewStatus:
        """The review by outside services, which see only tokens that are not our own."""
        error = ""
        for authenticator in self._tokens:
            try:
                found = self._verified(authenticator, token, wanted)
            except (StatusError, InvalidToken) as refusal:
                error = error or str(refusal)
                continue
            if found is not None:
                return TokenReviewStatus(authenticated(found.identity), found.audiences)
        return TokenReviewStatus(None, (), error or _UNKNOWN)

    def _verified(self, authenticator: Authenticator, token: str, wanted: Sequence[str]) -> TokenResponse | None:
        if isinstance(authenticator, TokenAuthenticator):
            return authenticator.verify(token, wanted)
        common = tuple(audience for audience in wanted if audience in self._audiences)
        identity = authenticator.authenticate(Credentials(bearer=token)) if common else None
        return None if identity is None else TokenResponse(identity, common)
