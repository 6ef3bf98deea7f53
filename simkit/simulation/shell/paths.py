"""Paths of files, and the folders that each container has."""

from __future__ import annotations

from typing import Final

ROOT: Final = frozenset(
    f"/{name}"
    for name in (
        "", "bin", "dev", "etc", "home", "lib", "media", "mnt", "opt", "proc", "root", "run", "sbin", "srv", "sys",
        "tmp", "usr", "usr/bin", "usr/lib", "usr/local", "usr/local/bin", "usr/sbin", "usr/share", "var", "var/cache",
        "var/lib", "var/log", "var/run", "var/tmp",
    )
)  # fmt: skip
"""The folders that each container has."""


def resolved(path: str, folder: str = "/") -> str:
    """A path without dots, from a folder.

    Examples
    --------
    >>> resolved("../b", "/a/x"), resolved("/..")
    ('/a/b', '/')
    """
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{folder}/{path}").split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
