"""Creates the ServiceAccount ``default`` in every namespace.

Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.engine.controllers.client_requests import create, expect, keys_of
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import NAMESPACES, SERVICE_ACCOUNTS
from simkit.engine.seams import Change
from simkit.meta.names import Key

_DEFAULT: Final = "default"


class ServiceAccountsController(ResourceWatcher):
    """Creates the account where it is missing, also after it was deleted."""

    name = "serviceaccount-controller"
    account = "service-account-controller"

    def __init__(self) -> None:
        super().__init__(NAMESPACES, SERVICE_ACCOUNTS)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == NAMESPACES:
            return [key]
        gone = change.type == "DELETED" and key.name == _DEFAULT
        return [Key(NAMESPACES, "", key.namespace)] if gone else []

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(NAMESPACES, lister.scan(NAMESPACES))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        namespace = lister.get(key)
        if namespace is None or is_terminating(namespace):
            return
        if lister.get(Key(SERVICE_ACCOUNTS, key.name, _DEFAULT)) is None:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _DEFAULT}}
            expect(create(client, SERVICE_ACCOUNTS, key.name, account), 403, 404, 409)
