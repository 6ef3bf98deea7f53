"""Labels auto-generated token secrets that are unused for a year as invalid, and deletes them a year later.

Upstream: pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from simkit.engine.controllers.client_requests import delete, expect, keys_of, merge, path_to
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS
from simkit.engine.seams import Change
from simkit.kinds.core.secret import ACCOUNT_NAME, TOKEN
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.domain import SYSTEM_NAMESPACE, label
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of

_TRACKING: Final = Key(CONFIG_MAPS, SYSTEM_NAMESPACE, "kube-apiserver-legacy-service-account-token-tracking")
"""Since when the use of tokens is noted."""
_USED: Final = label("legacy-token-last-used")
_INVALID: Final = label("legacy-token-invalid-since")
_DAY: Final = 86_400.0
_PATIENCE: Final = 365 * _DAY
"""Seconds without use."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


class LegacyTokenCleaner(ResourceWatcher):
    """Checks once a day the tokens that a ServiceAccount names and no pod mounts."""

    name = "legacy-serviceaccount-token-cleaner-controller"
    account = "legacy-service-account-token-cleaner"

    def __init__(self, clock: Clock) -> None:
        super().__init__(SECRETS, SERVICE_ACCOUNTS, PODS, CONFIG_MAPS)
        self._clock = clock

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        return key.resource == SECRETS and change.entry.object.get("type") == TOKEN

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SECRETS, [each for each in lister.scan(SECRETS) if each.get("type") == TOKEN])

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        secret = lister.get(key)
        if secret is None or is_terminating(secret):
            return None
        if self._is_old(lister, secret) and _is_own(lister, secret) and not _is_mounted(lister, secret):
            self._age(client, secret)
        return self._clock.now() + _DAY

    def _is_old(self, lister: Lister, secret: Object) -> bool:
        """True if it would be known if somebody had used the token for a year."""
        now, tracking = self._clock.now(), lister.get(_TRACKING)
        since = at(tracking, "data", "since") or ""
        if not _DATE.fullmatch(since) or moment(f"{since}T00:00:00Z") > now - _PATIENCE:
            return False
        if moment(metadata(secret)["creationTimestamp"]) >= now - _PATIENCE:
            return False
        used = labels_of(secret).get(_USED)
        return used is None or (bool(_DATE.fullmatch(used)) and used < self._day(now - _PATIENCE))

    def _age(self, client: Client, secret: Object) -> None:
        now = self._clock.now()
        since = labels_of(secret).get(_INVALID, "")
        if not _DATE.fullmatch(since):
            expect(merge(client, SECRETS, secret, {"metadata": {"labels": {_INVALID: self._day(now)}}}), 404, 409)
        elif since < self._day(now - _PATIENCE):
            expect(delete(client, path_to(SECRETS, secret), secret, exactly=True), 404, 409)

    @staticmethod
    def _day(seconds: float) -> str:
        return timestamp(seconds)[:10]


def _is_own(lister: Lister, secret: Object) -> bool:
    """True if the account names the secret: that is how tokens were made once without being asked for."""
    owner = annotations_of(secret).get(ACCOUNT_NAME, "")
    account = lister.get(Key(SERVICE_ACCOUNTS, metadata(secret)["namespace"], owner)) if owner else None
    return name_of(secret) in [each.get("name") for each in at(account, "secrets") or ()]


def _is_mounted(lister: Lister, secret: Object) -> bool:
    name = name_of(secret)
    return any(
        at(volume, "secret", "secretName") == name
        for pod in lister.scan(PODS, metadata(secret)["namespace"])
        for volume in at(pod, "spec", "volumes") or ()
    )
