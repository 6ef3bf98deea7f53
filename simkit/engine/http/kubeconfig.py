"""The kubeconfig that a server writes for its administrator."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson

from simkit.engine.http.certificates import ADMINISTRATOR
from simkit.meta.errors import SimkitError
from simkit.meta.whole_file import PRIVATE, write_whole


def kubeconfig_document(
    server: str, *, authority: bytes = b"", certificate: bytes = b"", key: bytes = b""
) -> dict[str, Any]:
    """A client configuration with one server and one user; authority, certificate and key are PEM texts."""
    cluster = {"server": server, **_data(certificate_authority_data=authority)}
    user = _data(client_certificate_data=certificate, client_key_data=key)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "simkit", "cluster": cluster}],
        "users": [{"name": ADMINISTRATOR, "user": user}],
        "contexts": [{"name": "simkit", "context": {"cluster": "simkit", "user": ADMINISTRATOR}}],
        "current-context": "simkit",
        "preferences": {},
    }


def write_kubeconfig(path: Path, content: dict[str, Any]) -> None:
    """Write a client configuration as JSON (which is YAML too), readable by its owner only. Raises SimkitError."""
    try:
        write_whole(path, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n", mode=PRIVATE)
    except OSError as error:
        raise SimkitError(f"cannot write the client configuration to {path}: {error}") from error


def _data(**entries: bytes) -> dict[str, str]:
    filled = {name.replace("_", "-"): content for name, content in entries.items() if content}
    return {name: base64.b64encode(content).decode() for name, content in filled.items()}
