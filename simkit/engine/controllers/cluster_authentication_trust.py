"""Keeps what other servers of the cluster must know of this one in its config map, whoever else writes there.

Upstream: pkg/controlplane/controller/clusterauthenticationtrust, release 1.30.
"""

from __future__ import annotations

import ssl
from base64 import encodebytes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.engine.seams import Change, Store
from simkit.kinds.parts.validation.pem import blocks
from simkit.meta.clock import Clock
from simkit.meta.domain import API_SERVER, SYSTEM_NAMESPACE
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key

AUTHENTICATION: Final = Key(GroupResource("", "configmaps"), SYSTEM_NAMESPACE, "extension-apiserver-authentication")
"""The config map that tells other servers of the cluster whom to believe."""
_PROXIES: Final = "requestheader-client-ca-file"
_BUNDLES: Final = ("client-ca-file", _PROXIES)
_LISTS: Final = tuple(
    f"requestheader-{name}"
    for name in ("username-headers", "uid-headers", "group-headers", "extra-headers-prefix", "allowed-names")
)
_SLACK: Final = 300.0
"""Seconds after its end for which a certificate is still told."""


class ClusterAuthenticationTrust:
    """Merges what this server requires into the config map after every write to it.

    Parameters
    ----------
    required
        Gives the content that must be there; empty where this server asks for nothing.
    perform
        Sends a request as the server itself.
    """

    def __init__(
        self,
        store: Store,
        required: Callable[[], Mapping[str, str]],
        perform: Callable[[Request], object],
        clock: Clock,
    ) -> None:
        self._store, self._required, self._perform, self._clock = store, required, perform, clock
        self._news = False

    def follow(self, changes: Sequence[Change]) -> None:
        """Hear what was written."""
        for change in changes:
            if change.entry.key == AUTHENTICATION:
                self._news = True

    def settle(self) -> None:
        """Put back what is missing, if the config map was written or deleted. What cannot be read is left as it is."""
        required = self._required() if self._news else {}
        self._news = False
        if not required:
            return
        entry = self._store.get(AUTHENTICATION)
        present: Mapping[str, str] = (entry.object.get("data") or {}) if entry is not None else {}
        try:
            combined = combine(present, required, self._clock.now())
        except ValueError:
            return
        if entry is None or combined != present:
            self._perform(_written(combined, None if entry is None else entry.object))


def _written(content: Mapping[str, str], present: Mapping[str, Any] | None) -> Request:
    path, headers = f"/api/v1/namespaces/{AUTHENTICATION.namespace}/configmaps", {"user-agent": API_SERVER}
    if present is not None:
        return Request.of("PUT", f"{path}/{AUTHENTICATION.name}", {**present, "data": content}, headers=headers)
    named = {"name": AUTHENTICATION.name, "namespace": AUTHENTICATION.namespace}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": content}
    return Request.of("POST", path, body, headers=headers)


def combine(present: Mapping[str, str], required: Mapping[str, str], now: float) -> dict[str, str]:
    """Both contents in one: each certificate and each name once, certificates that have ended left out.

    Raises
    ------
    ValueError
        For lists and certificates that cannot be read.
    """
    bundles = {name: _bundle(present.get(name, ""), required.get(name, ""), now) for name in _BUNDLES}
    lists = {name: _names(present.get(name, ""), required.get(name, "")) for name in _LISTS}
    if not bundles[_PROXIES]:
        lists = {}
    return {name: text for name, text in {**bundles, **lists}.items() if text}


def _names(*texts: str) -> str:
    given = [name for text in texts if text for name in orjson.loads(text)]
    return orjson.dumps(list(dict.fromkeys(given))).decode()


def _bundle(present: str, required: str, now: float) -> str:
    found: dict[bytes, None] = {}
    for text in (present, required):
        certificates = [der for kind, der in blocks(text.encode()) if kind == "CERTIFICATE"]
        if text and not certificates:
            raise ValueError("data does not contain any certificates")
        found |= dict.fromkeys(der for der in certificates if _lasts(der, now))
    return "".join(map(_pem, found))


def _lasts(der: bytes, now: float) -> bool:
    return _end(der) > now - _SLACK


def _end(der: bytes) -> float:
    """The moment until which a certificate is valid, as OpenSSL tells it of authorities. Others are parsed.

    Raises ValueError for bytes that are no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=der)
    except ssl.SSLError as error:
        raise ValueError("data contains a certificate that cannot be parsed") from error
    told = context.get_ca_certs()
    if told:
        return ssl.cert_time_to_seconds(str(told[0]["notAfter"]))
    from cryptography.x509 import load_der_x509_certificate  # costs a server an eighth of its memory at rest

    return load_der_x509_certificate(der).not_valid_after_utc.timestamp()


def _pem(der: bytes) -> str:
    encoded = encodebytes(der).replace(b"\n", b"").decode()
    lines = (encoded[start : start + 64] for start in range(0, len(encoded), 64))
    return "\n".join(("-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""))
