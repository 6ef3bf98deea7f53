"""The record of what the files of a certificate folder were found to hold, so that a start need not parse them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

FILES: Final = ("ca.crt", "ca.key", "apiserver.crt", "apiserver.key", "admin.crt", "admin.key", "sa.key")
NAME: Final = "checked.json"
"""The file of the record."""
Names = tuple[Sequence[str], Sequence[str]]


def holds(folder: Path, names: Names, first: datetime, last: datetime) -> bool:
    """True if the files were found good as they are now, for these DNS names and addresses and this span of time.

    Notes
    -----
    Whoever may write to the folder may replace the keys, so the record is trusted as they are.
    """
    try:
        record = orjson.loads((folder / NAME).read_bytes())
        return bool(
            record["files"] == digests(folder)
            and set(record["names"]).issuperset([*names[0], *names[1]])
            and datetime.fromisoformat(record["begins"]) <= first
            and last <= datetime.fromisoformat(record["ends"])
        )
    except (OSError, ValueError, KeyError, TypeError):  # no record, or one of something else: the files are read
        return False


def made(folder: Path, names: Iterable[str], begins: Iterable[datetime], ends: Iterable[datetime]) -> bytes:
    """The record of files that have just been found good.

    Parameters
    ----------
    names
        The DNS names and addresses of the serving certificate.
    begins, ends
        The moments from which and until which each of the certificates is valid.
    """
    record: dict[str, Any] = {
        "files": digests(folder),
        "names": sorted(names),
        "begins": max(begins).isoformat(),
        "ends": min(ends).isoformat(),
    }
    return orjson.dumps(record)


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 digests of the files, by name. Raises OSError for a missing one."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}
