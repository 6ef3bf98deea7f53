"""Flags of ``simkit serve`` for TLS."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simkit.cli.flag_types import words


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument(
        "--tls-cert-file", type=Path, metavar="FILE", help="the serving certificate (default: a generated one)"
    )
    group.add_argument("--tls-private-key-file", type=Path, metavar="FILE", help="the key of the certificate")
    group.add_argument(
        "--tls-sni-cert-key",
        type=named_pair,
        action="append",
        default=[],
        metavar="CERT,KEY[:NAME,...]",
        help="a further certificate, for clients that ask for one of these names; may be repeated",
    )
    group.add_argument("--tls-min-version", default="", metavar="VERSION", help="such as VersionTLS13 (default 1.2)")
    group.add_argument("--tls-cipher-suites", type=words, default=(), metavar="A,B", help="cipher suites of TLS 1.2")
    group.add_argument(
        "--strict-transport-security-directives", type=words, default=(), metavar="A,B", help="such as max-age=31536000"
    )


def named_pair(text: str) -> tuple[Path, Path, Sequence[str]]:
    """A certificate, its key and its names.

    Examples
    --------
    >>> named_pair("a.crt,a.key:a.example,b.example")[2]
    ('a.example', 'b.example')
    """
    files, _, names = text.partition(":")
    certificate, comma, key = files.partition(",")
    if not (certificate and comma and key):
        raise argparse.ArgumentTypeError(f"{text!r}: expected comma separated certificate and key file paths")
    return Path(certificate), Path(key), words(names)


def serving(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags: arguments of ``Serving``."""
    from simkit.engine.http.tls import TLSOptions

    return {
        "tls": TLSOptions(args.tls_min_version, args.tls_cipher_suites, args.tls_sni_cert_key),
        "transport_security": args.strict_transport_security_directives,
    }
