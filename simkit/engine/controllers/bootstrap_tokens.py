"""Deletes expired bootstrap tokens, and signs the cluster-info config map with the others.

Upstream: pkg/controller/bootstrap, release 1.30.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import orjson

from simkit.engine.controllers.client_requests import expect, keys_of, remove, replace
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import CONFIG_MAPS, SECRETS
from simkit.engine.seams import Change
from simkit.meta.clock import Clock
from simkit.meta.domain import LABEL_DOMAIN, PUBLIC_NAMESPACE, SYSTEM_NAMESPACE
from simkit.meta.names import Key
from simkit.meta.objects import Object

_TYPE: Final = f"bootstrap.{LABEL_DOMAIN}/token"
_INFO: Final = Key(CONFIG_MAPS, PUBLIC_NAMESPACE, "cluster-info")
_SIGNATURE: Final = "jws-kubeconfig-"


def _is_token(obj: Object) -> bool:
    return obj.get("type") == _TYPE


def _field(secret: Object, name: str) -> str:
    try:
        return base64.b64decode((secret.get("data") or {}).get(name) or "").decode()
    except ValueError:
        return ""


def _expires(secret: Object) -> float | None:
    """The expiration time of a token; None if it has none. One that cannot be parsed has expired."""
    text = _field(secret, "expiration")
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


class TokenCleaner(ResourceWatcher):
    """Deletes bootstrap token secrets when they expire."""

    name = "token-cleaner-controller"
    account = "token-cleaner"

    def __init__(self, clock: Clock) -> None:
        super().__init__(SECRETS)
        self._clock = clock

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        return key.resource == SECRETS and key.namespace == SYSTEM_NAMESPACE and _is_token(change.entry.object)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SECRETS, list(filter(_is_token, lister.scan(SECRETS, SYSTEM_NAMESPACE))))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        secret = lister.get(key)
        end = _expires(secret) if secret is not None and _is_token(secret) else None
        if secret is None or end is None:
            return None
        if end > self._clock.now():
            return end
        remove(client, SECRETS, secret)
        return None


class BootstrapSigner(ResourceWatcher):
    """Keeps a JWS signature in the cluster-info config map for each token that may sign."""

    name = "bootstrap-signer-controller"
    account = "bootstrap-signer"

    def __init__(self, clock: Clock) -> None:
        super().__init__(SECRETS, CONFIG_MAPS)
        self._clock = clock

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        if key == _INFO:
            return True
        return key.resource == SECRETS and key.namespace == SYSTEM_NAMESPACE and _is_token(change.entry.object)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [_INFO]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return [_INFO]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        info = lister.get(key)
        content = ((info or {}).get("data") or {}).get("kubeconfig")
        if info is None or content is None:
            return None
        now, ends, signatures = self._clock.now(), list[float](), dict[str, str]()
        for secret in filter(_is_token, lister.scan(SECRETS, SYSTEM_NAMESPACE)):
            end, name = _expires(secret), _field(secret, "token-id")
            if (
                is_terminating(secret)
                or _field(secret, "usage-bootstrap-signing") != "true"
                or (end is not None and end <= now)
            ):
                continue
            signatures[_SIGNATURE + name] = detached(content, name, _field(secret, "token-secret"))
            ends += [end] if end is not None else []
        kept = {name: value for name, value in info["data"].items() if not name.startswith(_SIGNATURE)}
        if {**kept, **signatures} != info["data"]:
            expect(replace(client, CONFIG_MAPS, {**info, "data": {**kept, **signatures}}), 404, 409)
        return min(ends, default=None)


def detached(content: str, identifier: str, secret: str) -> str:
    """The signature of a text under a token's secret, without the text in it.

    Examples
    --------
    >>> detached("a", "abcdef", "0123456789abcdef").split(".")[1]
    ''
    """
    header = _encoded(orjson.dumps({"alg": "HS256", "kid": identifier}))
    signed = f"{header}.{_encoded(content.encode())}".encode()
    mark = hmac.new(f"{identifier}.{secret}".encode(), signed, hashlib.sha256).digest()
    return f"{header}..{_encoded(mark)}"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
