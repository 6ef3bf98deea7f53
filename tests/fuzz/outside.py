"""Hostile input that is no request: certificates, tokens, client configurations and dumps, made of bytes.

Each begins with something sound, of which some bytes are changed, so that most of it still gets past the first check.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson
from cryptography.hazmat.primitives.serialization import Encoding

import simkit
from simkit.engine.authn.jws import Malformed, parse
from simkit.engine.authn.signing_keys import BadKeySet, read_key_set
from simkit.engine.authn.x509 import subject
from simkit.engine.authn.x509_chain import Untrusted, load_authorities, steady_span, verify_client
from simkit.engine.egress.files import load_kubeconfig
from simkit.meta.errors import SimkitError
from tests.fuzz.structures import Choices
from tests.security.certificate_chains import same_name_chain

if TYPE_CHECKING:
    from cryptography import x509

_CONFIG: Final = b"""\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: it, cluster: {server: "https://a:1", certificate-authority-data: YQ==}}]
users: [{name: me, user: {token: t, client-certificate-data: YQ==, client-key-data: YQ==}}]
contexts: [{name: here, context: {cluster: it, user: me, namespace: n}}]
"""
_TOKEN: Final = b"eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJzdWIiOiJhIiwiZXhwIjoxfQ.c2ln"
_DUMP: Final = b"""\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {a: b}}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, namespace: a},
   rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: [x]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: a}
spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a, image: b}]}}}
"""
_PARTS: Final = (
    b"",
    b"\x00",
    b"\xff",
    b"\n",
    b"...",
    b"- ",
    b": ",
    b"{",
    b"[",
    b"&a ",
    b"*a",
    b"<<: ",
    b"9" * 400,
    b"=",
    b".",
    b"!!",
    b"%",
)


def _changed(sound: bytes, choices: Choices) -> bytes:
    """Some bytes with a few places changed."""
    content = bytearray(sound)
    for _ in range(choices.number(6)):
        place = choices.number(len(content) + 1)
        content[place : place + choices.number(4)] = choices.of(_PARTS)
    return bytes(content)


@cache
def _chain() -> tuple[tuple[bytes, ...], tuple[x509.Certificate, ...]]:
    found = tuple(load_authorities(same_name_chain(3)[0]))
    return tuple(each.public_bytes(Encoding.DER) for each in found), found


def certificates(choices: Choices) -> None:
    """Verify a chain of changed certificates, and read its names."""
    chain, trusted = _chain()
    now = trusted[0].not_valid_before_utc.timestamp() + 3600
    sent = [_changed(der, choices) for der in chain[: 1 + choices.number(len(chain))]]
    with contextlib.suppress(Untrusted):
        path = verify_client(sent, trusted, now)
        steady_span(sent, trusted, now)
        subject(path[0])


def bundle(choices: Choices) -> None:
    """Read a changed bundle of authorities."""
    with contextlib.suppress(ValueError):
        load_authorities(_changed(same_name_chain(2)[0], choices))


def tokens(choices: Choices) -> None:
    """Read a changed token and a changed set of keys."""
    with contextlib.suppress(Malformed):
        parse(_changed(_TOKEN, choices).decode("utf-8", "replace"))
    keys = b'{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}]}'
    with contextlib.suppress(BadKeySet):
        read_key_set(_changed(keys, choices))


def configurations(choices: Choices) -> None:
    """Read a changed client configuration."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config"
        file.write_bytes(_changed(_CONFIG, choices))
        with contextlib.suppress(SimkitError):
            load_kubeconfig(file)


def dumps(choices: Choices) -> None:
    """Load a changed dump, and ask what it allows."""
    sound = _DUMP if choices.number(2) else orjson.dumps({"kind": "List", "apiVersion": "v1", "items": [{"a": 1}]})
    with contextlib.suppress(SimkitError):
        simkit.load(_changed(sound, choices))


OUTSIDE: Final[Mapping[str, Callable[[Choices], None]]] = {
    "certificate": certificates,
    "bundle": bundle,
    "token": tokens,
    "kubeconfig": configurations,
    "dump": dumps,
}
