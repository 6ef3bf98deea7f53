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


# Modes, owners and times of files, as numbers and as letters.
# References: POSIX.1-2017, ``chmod``, EXTENDED DESCRIPTION.

FOLDER_MODE: Final = 0o755
FILE_MODE: Final = 0o644
SETUID, SETGID, STICKY = 0o4000, 0o2000, 0o1000
_CLAUSE: Final = re.compile(r"([ugoa]*)((?:[-+=][rwxXstugo]*)+)")
_ACTION: Final = re.compile(r"([-+=])([rwxXstugo]*)")
_SHIFTS: Final = {"u": 6, "g": 3, "o": 0}
_BITS: Final = {"r": 4, "w": 2, "x": 1}


class Mark(NamedTuple):
    """The mode, the owner, the group and the time of a file or a folder."""

    mode: int
    uid: int = 0
    gid: int = 0
    time: float = 0.0
    """The time at which it was written last, in seconds since the epoch."""


def mode_of(text: str, before: int, *, is_folder: bool, umask: int) -> int | None:
    """The mode that a text such as ``640`` or ``u+x,g=r`` makes of another one; None for a text that is none.

    Examples
    --------
    >>> oct(mode_of("u+x,go-r", 0o644, is_folder=False, umask=0o022)), mode_of("z+x", 0, is_folder=False, umask=0)
    ('0o700', None)
    """
    if re.fullmatch("[0-7]{1,5}", text):
        return int(text, 8) & 0o7777
    mode = before
    for clause in text.split(","):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            return None
        for sign, letters in _ACTION.findall(found[2]):
            mode = _acted(mode, found[1], sign, letters, is_folder=is_folder, umask=umask)
    return mode


def _acted(mode: int, who: str, sign: str, letters: str, *, is_folder: bool, umask: int) -> int:
    chosen = "ugo" if not who or "a" in who else who
    bits = 0
    for letter in letters:
        for each in chosen:
            bits |= _bits(mode, letter, each, is_folder=is_folder)
    bits &= ~umask if not who else 0o7777
    if sign == "+":
        return mode | bits
    if sign == "-":
        return mode & ~bits
    cleared = sum(0o7 << _SHIFTS[each] for each in set(chosen))
    cleared |= STICKY if "o" in chosen else 0
    cleared |= (SETUID if "u" in chosen else 0) | (SETGID if "g" in chosen and not is_folder else 0)
    return mode & ~cleared | bits


def _bits(mode: int, letter: str, who: str, *, is_folder: bool) -> int:
    """The bits of one letter for the owner, the group or all others."""
    if letter in _BITS:
        return _BITS[letter] << _SHIFTS[who]
    if letter == "X":
        return (1 << _SHIFTS[who]) if is_folder or mode & 0o111 else 0
    if letter == "s":
        return {"u": SETUID, "g": SETGID, "o": 0}[who]
    if letter == "t":
        return STICKY
    return (mode >> _SHIFTS[letter] & 7) << _SHIFTS[who]


def as_letters(mode: int, kind: str) -> str:
    """A mode as ``ls -l`` shows it.

    Examples
    --------
    >>> as_letters(0o755, "d"), as_letters(0o1777, "d"), as_letters(0o4750, "-")
    ('drwxr-xr-x', 'drwxrwxrwt', '-rwsr-x---')
    """
    letters = [letter if mode >> 8 - place & 1 else "-" for place, letter in enumerate("rwxrwxrwx")]
    for bit, place, sign in ((SETUID, 2, "s"), (SETGID, 5, "s"), (STICKY, 8, "t")):
        if mode & bit:
            letters[place] = sign if letters[place] == "x" else sign.upper()
    return kind + "".join(letters)
