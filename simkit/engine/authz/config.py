"""The authorizers of a server: chosen once by flags, or by a file that is read again when it changes."""

from __future__ import annotations

import hashlib
import logging
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, Protocol

from simkit.engine.authz.privileged import PrivilegedGroups
from simkit.engine.authz.union import UnionAuthorizer
from simkit.engine.seams import Authorizer, RuleList
from simkit.meta.attributes import ALLOW, DENY, Attributes, Decision
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity

_LOG: Final = logging.getLogger("simkit.authz")
_FAMILY: Final = "apiserver_authorization_config_controller_automatic_reload"
LOOK_EVERY: Final = 1.0
"""Seconds between looks at whether the file has changed."""
READ_EVERY: Final = 60.0
"""Seconds after which the file is read whether it seems to have changed or not."""
SERVER_HASH: Final = "sha256:" + hashlib.sha256(platform.node().encode()).hexdigest()
"""What the metrics call this server."""


class Counters(Protocol):
    """Counts what happens, by family and labels."""

    def count(self, family: str, *labels: str) -> None: ...

    def set(self, family: str, *labels: str, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Module:
    """One authorizer with its type and name."""

    type: str
    name: str
    authorizer: Authorizer


class _Counted:
    """Counts what an authorizer decides finally."""

    def __init__(self, module: Module, counters: Counters) -> None:
        self._ask, self._counters = module.authorizer.authorize, counters
        self._rules, self._labels = module.authorizer.rules_for, (module.type, module.name)

    def authorize(self, ask: Attributes) -> Decision:
        decision = self._ask(ask)
        if decision.verdict is ALLOW:
            self._counters.count("apiserver_authorization_decisions_total", *self._labels, "allowed")
        elif decision.verdict is DENY:
            self._counters.count("apiserver_authorization_decisions_total", *self._labels, "denied")
        return decision

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return self._rules(identity, namespace)


class Modules:
    """Authorizers in order, members of ``system:masters`` before all of them.

    Attributes
    ----------
    leaves_process
        Whether a question may wait for a service outside.
    """

    def __init__(self, modules: Sequence[Module], counters: Counters) -> None:
        self.modules = tuple(modules)
        self._union = UnionAuthorizer([PrivilegedGroups(), *(_Counted(each, counters) for each in modules)])
        self.leaves_process = any(getattr(each.authorizer, "leaves_process", False) for each in modules)

    def authorize(self, ask: Attributes) -> Decision:
        return self._union.authorize(ask)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return self._union.rules_for(identity, namespace)


class FromFile:
    """The authorizers of a configuration file, which is read again when it changes, and once a minute.

    Parameters
    ----------
    path
        The file.
    build
        Makes the authorizers from its content. Raises SimkitError.
    clock
        When the next look is due.
    counters
        Where reloads are counted.

    Notes
    -----
    A file that has become unusable changes nothing: the authorizers from before stay, with a warning in the log.
    Nothing runs in the background: the look is taken by the question that comes when it is due.
    """

    def __init__(
        self, path: str | Path, build: Callable[[bytes], Sequence[Module]], clock: Clock, counters: Counters
    ) -> None:
        self._path, self._build, self._clock, self._counters = Path(path), build, clock, counters
        self._content = self._read()
        self._current = Modules(build(self._content), counters)
        self._stamp = self._stamped()
        self._looked = self._refreshed = clock.now()
        self._lock = Lock()

    @property
    def leaves_process(self) -> bool:
        """Whether a question may wait for a service outside."""
        return self._current.leaves_process

    @property
    def modules(self) -> tuple[Module, ...]:
        """The authorizers as they are now."""
        return self._current.modules

    def authorize(self, ask: Attributes) -> Decision:
        self._look()
        return self._current.authorize(ask)

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        self._look()
        return self._current.rules_for(identity, namespace)

    def _look(self) -> None:
        now = self._clock.now()
        if now - self._looked < LOOK_EVERY or not self._lock.acquire(blocking=False):
            return
        try:
            self._looked = now
            stamp = self._stamped()
            if stamp != self._stamp or now - self._refreshed >= READ_EVERY:
                self._stamp, self._refreshed = stamp, now
                self._reload(now)
        finally:
            self._lock.release()

    def _reload(self, now: float) -> None:
        try:
            content = self._read()
            if content == self._content:
                return
            modules = Modules(self._build(content), self._counters)
        except SimkitError as error:
            _LOG.warning("the authorization configuration stays as it was: %s", error)
            self._tell("failure", now)
            return
        self._content, self._current = content, modules
        self._tell("success", now)

    def _tell(self, status: str, now: float) -> None:
        self._counters.count(f"{_FAMILY}s_total", SERVER_HASH, status)
        self._counters.set(f"{_FAMILY}_last_timestamp_seconds", SERVER_HASH, status, value=now)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise SimkitError(f"{self._path} cannot be read: {error.strerror or error}") from error

    def _stamped(self) -> tuple[int, int, int]:
        """What changes when the file does."""
        try:
            found = self._path.stat()
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)
