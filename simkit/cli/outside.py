"""Flags of ``simkit serve`` for other servers: webhooks, and servers of API services."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from simkit.meta.errors import SimkitError


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument(
        "--service-address",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME=HOST:PORT",
        help="the address of a Service that webhooks or APIServices name; may be repeated",
    )
    group.add_argument(
        "--proxy-client-cert-file",
        type=Path,
        metavar="FILE",
        help="the client certificate for calls to other servers (default: a generated one)",
    )
    group.add_argument("--proxy-client-key-file", type=Path, metavar="FILE", help="the key of the client certificate")


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags, by the name of the option. Raises SimkitError.

    Examples
    --------
    >>> given = argparse.Namespace(
    ...     service_address=["ops/hook=127.0.0.1:8443"], proxy_client_cert_file=None, proxy_client_key_file=None
    ... )
    >>> options(given)["services"]
    {'ops/hook': '127.0.0.1:8443'}
    """
    if (args.proxy_client_cert_file is None) != (args.proxy_client_key_file is None):
        raise SimkitError("--proxy-client-cert-file and --proxy-client-key-file must be given together")
    services: dict[str, str] = {}
    for text in args.service_address:
        name, separator, address = text.partition("=")
        if not separator or name.count("/") != 1 or not address:
            raise SimkitError(f"--service-address: {text!r} is not of the form namespace/name=host:port")
        services[name] = address
    return {
        "services": services,
        "proxy_client_cert_file": args.proxy_client_cert_file,
        "proxy_client_key_file": args.proxy_client_key_file,
    }
