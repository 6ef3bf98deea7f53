"""The data that ``create configmap`` and ``create secret`` take from files: ``--from-file``, ``--from-env-file``, keys.

Upstream: k8s.io/kubectl/pkg/cmd/create (create_configmap.go, create_secret_tls.go) and util/env_file.go, release 1.32.
"""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from simkit.notebook.kubectl.client import KubectlError

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_VARIABLE: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def data_of(args: Namespace, kind: str, name: str) -> dict[str, bytes]:
    """The values by key that the flags give, in the order of literals, files and files of variables.

    Raises KubectlError for files that cannot be read, and for keys that are not valid or come twice.
    """
    if args.from_env_file and (args.from_file or args.from_literal):
        raise KubectlError("error: from-env-file cannot be combined with from-file or from-literal")
    found: dict[str, bytes] = {}
    for key, value in _given(args):
        if not _KEY.fullmatch(key):
            raise KubectlError(
                f'error: "{key}" is not a valid key name for a {kind}: a valid config key must consist of alphanumeric '
                "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for "
                "validation is '[-._a-zA-Z0-9]+')"
            )
        if key in found:
            raise KubectlError(
                f'error: cannot add key "{key}", another key by that name already exists in Data for {kind} "{name}"'
            )
        found[key] = value
    return found


def _given(args: Namespace) -> Iterator[tuple[str, bytes]]:
    for each in args.from_literal:
        key, equals, text = each.partition("=")
        if not equals:
            raise KubectlError(f"error: invalid literal source {each}, expected key=value")
        yield key, text.encode()
    for each in args.from_file:
        yield from _files(each)
    for each in args.from_env_file:
        yield from _variables(_content(each).decode("utf-8", "replace"))


def _files(source: str) -> Iterator[tuple[str, bytes]]:
    """One file under its name or the key before ``=``; of a folder all files directly in it."""
    key, equals, file = source.partition("=")
    if source.count("=") > 1:
        raise KubectlError("error: key names or file paths cannot contain '='")
    if equals and not (key and file):
        raise KubectlError(f"error: {'key name' if not key else 'file path'} for file path {source} missing")
    path = Path(file if equals else source)
    if not equals and path.is_dir():
        for each in sorted(path.iterdir()):
            if each.is_file() and not each.is_symlink():
                yield each.name, _content(str(each))
        return
    yield (key if equals else path.name), _content(str(path))


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KubectlError(f"error: error reading {file}: {reason}") from None


def _variables(text: str) -> Iterator[tuple[str, bytes]]:
    """``NAME=value`` a line; a name alone takes its value from the environment of this process."""
    for line in text.removeprefix("\ufeff").splitlines():
        shown = line.lstrip()
        if not shown or shown.startswith("#"):
            continue
        name, equals, value = shown.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise KubectlError(f'error: "{name}" is not a valid key name: next: letters, digits, "-", "_" and "."')
        if equals or name in os.environ:
            yield name, (value if equals else os.environ[name]).encode()


def key_pair(args: Namespace) -> dict[str, bytes]:
    """Certificate and key of ``create secret tls``. Raises KubectlError unless they belong together."""
    if not (args.cert and args.key):
        raise KubectlError("error: key and cert must be specified")
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    texts = []
    for file in (args.cert, args.key):
        try:
            texts.append(Path(file).read_bytes())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise KubectlError(f"error: Cannot read file {file}, open {file}: {reason}") from None
    certificate, key = texts
    for text, word in ((certificate, "certificate"), (key, "key")):
        if b"-----BEGIN" not in text:
            raise KubectlError(f"error: tls: failed to find any PEM data in {word} input")
    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
        private = load_pem_private_key(key, None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KubectlError(f"error: tls: cannot read certificate or key: {error}") from None
    if _bytes(public) != _bytes(private):
        raise KubectlError("error: tls: private key does not match public key")
    return {"tls.crt": certificate, "tls.key": key}


def _bytes(key: object) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    return encoded
