"""Several authenticators as one: the first success decides.

References
----------
k8s.io/apiserver/pkg/authentication/request/union/union.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence

from simkit.engine.authn.anonymous import ANONYMOUS_IDENTITY
from simkit.engine.authn.bearer import offers
from simkit.engine.seams import Authenticator
from simkit.meta.errors import StatusError, unauthorized
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, Identity
from simkit.meta.message import Credentials


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
