"""Paths of files, with their modes, owners and times."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# Paths of files, and the folders that each container has

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


# Modes, owners and times of files.
# References: POSIX.1-2017, ``chmod``, EXTENDED DESCRIPTION.

FOLDER_MODE: Final = 0o755
FILE_MODE: Final = 0o644
SETGID, STICKY = 0o2000, 0o1000
UMASK: Final = 0o022
"""The bits that new files do not have."""
_BITS: Final = {"r": 0o444, "w": 0o222, "x": 0o111, "u": 0o700, "g": 0o070, "o": 0o007}


class Mark(NamedTuple):
    """The mode, the owner, the group and the time of a file or a folder."""

    mode: int
    uid: int = 0
    gid: int = 0
    time: float = 0.0
    """The time at which it was written last, in seconds since the epoch."""


def mode_of(text: str, before: int) -> int | None:
    """The mode that a text such as ``640`` or ``u+x,g=r`` makes of another one; None for any other text.

    Examples
    --------
    >>> oct(mode_of("u+x,go-r", 0o644)), mode_of("z+x", 0)
    ('0o700', None)
    """
    if re.fullmatch("[0-7]{3,4}", text):
        return int(text, 8)
    mode = before
    for clause in text.split(","):
        found = re.fullmatch("([ugoa]*)([-+=])([rwx]*)", clause)
        if found is None:
            return None
        who = _sum("ugo" if not found[1] or "a" in found[1] else found[1])
        bits = _sum(found[3]) & who & ~(0 if found[1] else UMASK)
        mode = mode & ~bits if found[2] == "-" else (mode if found[2] == "+" else mode & ~who) | bits
    return mode


def _sum(letters: str) -> int:
    return sum(_BITS[letter] for letter in set(letters))
