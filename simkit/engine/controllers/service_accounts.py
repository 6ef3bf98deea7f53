"""Controllers of service accounts and of the secrets with their tokens."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, keys_of, path_of, remove, replace
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import NAMESPACES, SECRETS, SERVICE_ACCOUNTS
from simkit.engine.authn.serviceaccount import legacy_claims
from simkit.kinds.core.secret import ACCOUNT_NAME, ACCOUNT_UID, TOKEN, is_token_of
from simkit.meta.clock import NameSource
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, name_of, namespace_of, with_metadata
from simkit.seams import Change

# Creates the ServiceAccount ``default`` in every namespace.
# Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go, release 1.30.

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

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        namespace = lister.get(key)
        if namespace is None or is_terminating(namespace):
            return
        if lister.get(Key(SERVICE_ACCOUNTS, key.name, _DEFAULT)) is None:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _DEFAULT}}
            expect(create(client, SERVICE_ACCOUNTS, key.name, account), 403, 404, 409)


# Fills secrets of type service-account-token, and deletes those whose ServiceAccount is gone.
# Upstream: pkg/controller/serviceaccount/tokens_controller.go, release 1.30; of 1.23, how each account gets a secret.

_CREATED: Final = 201
_REFUSED: Final = 400


class TokensController(ResourceWatcher):
    """Fills token secrets, and deletes those whose account is gone or has another uid.

    Parameters
    ----------
    names
        Where the names of new secrets come from; None: accounts get none, as in releases from 1.24 on.
    """

    name = "serviceaccount-token-controller"
    account = "system:kube-controller-manager"

    def __init__(
        self,
        issue: Callable[[Mapping[str, Any]], str],
        bundle: Callable[[], str],
        names: NameSource | None = None,
    ) -> None:
        super().__init__(SERVICE_ACCOUNTS, SECRETS)
        self._issue, self._bundle, self._names = issue, bundle, names

    def concerns(self, change: Change) -> bool:
        resource = change.entry.key.resource
        return resource == SERVICE_ACCOUNTS or (resource == SECRETS and _is_token(change.entry.object))

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == SECRETS:
            return [key]
        own = [
            each for each in lister.scan(SECRETS, key.namespace) if annotations_of(each).get(ACCOUNT_NAME) == key.name
        ]
        return [*keys_of(SECRETS, own), *([key] if self._names is not None else ())]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        secrets = keys_of(SECRETS, lister.scan(SECRETS))
        accounts = lister.scan(SERVICE_ACCOUNTS) if self._names is not None else ()
        return [*secrets, *keys_of(SERVICE_ACCOUNTS, accounts)]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        if key.resource == SERVICE_ACCOUNTS:
            self._provide(client, lister, key)
            return
        secret = lister.get(key)
        if secret is None:
            self._forget(client, lister, key)
            return
        if not _is_token(secret):
            return
        name = annotations_of(secret).get(ACCOUNT_NAME, "")
        account = lister.get(Key(SERVICE_ACCOUNTS, key.namespace, name)) if name else None
        if account is None or annotations_of(secret).get(ACCOUNT_UID, uid_of(account)) != uid_of(account):
            remove(client, SECRETS, secret)
            return
        filled = self._filled(secret, account)
        if filled is not None:
            expect(replace(client, SECRETS, filled), 404, 409)

    def _provide(self, client: Client, lister: Lister, key: Key) -> None:
        """Make a secret for an account that names none of its own, and name it there."""
        account = lister.get(key)
        if account is None or self._names is None or _has_token(account, lister):
            return
        name = f"{key.name}-token-{self._names.suffix()}"
        secret: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": key.namespace, "annotations": {ACCOUNT_NAME: key.name}},
            "type": TOKEN,
        }
        made = expect(create(client, SECRETS, key.namespace, self._filled(secret, account) or secret), 403, 404, 409)
        if made.status != _CREATED:
            return
        named = [*(account.get("secrets") or ()), {"name": name}]
        answer = expect(replace(client, SERVICE_ACCOUNTS, {**account, "secrets": named}), 404, 409)
        if answer.status >= _REFUSED:
            expect(client.perform(Request.of("DELETE", path_of(SECRETS, key.namespace, name))), 404)

    def _forget(self, client: Client, lister: Lister, key: Key) -> None:
        """Accounts do not name a token that is gone."""
        for account in lister.scan(SERVICE_ACCOUNTS, key.namespace):
            named = account.get("secrets") or ()
            left = [each for each in named if each.get("name") != key.name]
            if len(left) < len(named):
                expect(replace(client, SERVICE_ACCOUNTS, {**account, "secrets": left}), 404, 409)

    def _filled(self, secret: Object, account: Object) -> Object | None:
        """The secret with all that it should hold, None where it holds it already."""
        data = dict(secret.get("data") or {})
        wanted = {"ca.crt": _encoded(self._bundle()), "namespace": _encoded(namespace_of(secret))}
        if not data.get("token"):
            wanted["token"] = _encoded(self._issue(legacy_claims(account, name_of(secret))))
        notes = {**annotations_of(secret), ACCOUNT_UID: uid_of(account)}
        if all(data.get(name) == value for name, value in wanted.items()) and notes == annotations_of(secret):
            return None
        return {**with_metadata(secret, annotations=notes), "data": {**data, **wanted}}


def _has_token(account: Object, lister: Lister) -> bool:
    """True if one of the secrets that an account names is a token of this account."""
    namespace = namespace_of(account)
    for each in account.get("secrets") or ():
        secret = lister.get(Key(SECRETS, namespace, each.get("name") or ""))
        if secret is not None and is_token_of(secret, account):
            return True
    return False


def _is_token(secret: Object) -> bool:
    return secret.get("type") == TOKEN


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
