"""The protocols of authentication, and those that other parts need of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NewType, Protocol

from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.objects import Object


class Authenticator(Protocol):
    """Finds the identity behind credentials, as ``authenticator.Request`` of k8s.io/apiserver does.

    An implementation must not raise for credentials of another kind, must not change what it is given, and must say
    when it may wait for a service outside the process: requests then run on worker threads.
    """

    @property
    def leaves_process(self) -> bool:
        """True if ``authenticate`` may wait for something outside the process."""
        ...

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity; None for credentials of another kind. Raises a 401 StatusError for bad ones of its kind."""
        ...


Token = NewType("Token", str)


class TokenIssuer(Protocol):
    """Issues service account tokens: what the registry needs of authentication."""

    def issue(self, claims: Mapping[str, Any]) -> Token: ...


class EscalationGuard(Protocol):
    """The RBAC escalation check on written roles and bindings: what admission needs of authorization.

    References
    ----------
    pkg/registry/rbac/escalation_check.go, release 1.30.
    """

    @property
    def leaves_process(self) -> bool:
        """True if a call may wait for another process."""
        ...

    def check_role(self, identity: Identity, role: Object, old: Object | None, *, requested_name: str = "") -> None:
        """Raises the 403 StatusError of kube-apiserver if the role has more rules than the identity.

        ``requested_name`` is the name in the request's path, empty on POST: ``escalate`` limited to a name counts
        only for a request that carries it.
        """
        ...

    def check_binding(self, identity: Identity, binding: Object, old: Object | None) -> None:
        """Raises the 403 (or 404 for a missing role) StatusError if the binding grants more than the identity has."""
        ...
