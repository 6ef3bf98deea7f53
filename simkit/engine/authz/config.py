"""The authorizers of a server, chosen by flags or by a configuration file that is reloaded.

Upstream: pkg/kubeapiserver/authorizer/reload.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simkit.engine.egress.files import DynamicFile
from simkit.logic.authorizers.union import PrivilegedGroups, UnionAuthorizer
from simkit.meta.attributes import ALLOW, DENY, Attributes, Decision
from simkit.meta.clock import Clock
from simkit.meta.identity import Identity
from simkit.seams import Authorizer, Meter, RuleList

_FAMILY: Final = "apiserver_authorization_config_controller_automatic_reload"


@dataclass(frozen=True, slots=True)
class NamedAuthorizer:
    """An authorizer with its type and name."""

    type: str
    name: str
    authorizer: Authorizer


class _Counted:
    """Counts the final decisions of an authorizer."""

    def __init__(self, module: NamedAuthorizer, counters: Meter) -> None:
        self._ask, self._counters = module.authorizer.authorize, counters
        self._rules, self._labels = module.authorizer.rules_for, (module.type, module.name)
        self.leaves_process = module.authorizer.leaves_process

    def authorize(self, ask: Attributes) -> Decision:
        decision = self._ask(ask)
        if decision.verdict is ALLOW:
            self._counters.count("apiserver_authorization_decisions_total", *self._labels, "allowed")
        elif decision.verdict is DENY:
            self._counters.count("apiserver_authorization_decisions_total", *self._labels, "denied")
        return decision

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return self._rules(identity, namespace)


class AuthorizerChain:
    """Authorizers in order, with ``system:masters`` allowed before all of them.

    Attributes
    ----------
    leaves_process
        Whether a question may wait for a service outside.
    """

    def __init__(self, modules: Sequence[NamedAuthorizer], counters: Meter) -> None:
        self.modules = tuple(modules)
        self._union = UnionAuthorizer([PrivilegedGroups(), *(_Counted(each, counters) for each in modules)])
        self.leaves_process = self._union.leaves_process

    def authorize(self, ask: Attributes) -> Decision:
        return self._union.authorize(ask)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return self._union.rules_for(identity, namespace)


class ReloadingAuthorizer:
    """The authorizers of a configuration file, which is read again when it changes, and once a minute.

    Parameters
    ----------
    path
        The file.
    build
        Makes the authorizers from its content. Raises SimkitError.
    clock
        When the next look at the file is due.
    counters
        Where decisions and reloads are counted.
    """

    def __init__(
        self, path: str | Path, build: Callable[[bytes], Sequence[NamedAuthorizer]], clock: Clock, counters: Meter
    ) -> None:
        def made(content: bytes) -> AuthorizerChain:
            return AuthorizerChain(build(content), counters)

        self._file = DynamicFile(path, made, clock, counters, _FAMILY)

    @property
    def leaves_process(self) -> bool:
        """True if a question may wait for a service outside."""
        return self._file.known.leaves_process

    @property
    def modules(self) -> tuple[NamedAuthorizer, ...]:
        """The current authorizers."""
        return self._file.known.modules

    def authorize(self, ask: Attributes) -> Decision:
        return self._file.current().authorize(ask)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return self._file.current().rules_for(identity, namespace)
