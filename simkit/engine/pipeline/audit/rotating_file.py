"""A log file that is rotated by size; old files are removed by age and number."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final

from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError

USUAL_MEGABYTES: Final = 100
_MEGABYTE: Final = 1024 * 1024
_PRIVATE: Final = 0o600
_STAMP: Final = "%Y-%m-%dT%H-%M-%S"


class RotatingFile:
    """Appends to a file that only its owner can read. Raises SimkitError for a path that cannot be written.

    Parameters
    ----------
    path
        ``-`` is the standard output, which is never rotated.
    clock
        For the names of old files, and their age.
    max_size, max_age, max_backup
        Megabytes of a file (0: a hundred), days and number of old ones (0: no limit).
    compress
        Whether old files are kept in gzip form.

    Notes
    -----
    The file ``audit.log`` becomes ``audit-2024-04-17T10-00-00.000.log``, as on kube-apiserver.
    """

    def __init__(
        self,
        path: str | Path,
        clock: Clock,
        *,
        max_size: int = 0,
        max_age: int = 0,
        max_backup: int = 0,
        compress: bool = False,
    ) -> None:
        self._path, self._clock = Path(path), clock
        self._most = (max_size or USUAL_MEGABYTES) * _MEGABYTE
        self._max_age, self._max_backup, self._compress = max_age, max_backup, compress
        self._lock = threading.Lock()
        self._standard = str(path) == "-"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open()
        except OSError as error:
            raise SimkitError(f"the audit log {path} cannot be written: {error.strerror or error}") from error

    def _open(self) -> IO[bytes]:
        if self._standard:
            return sys.stdout.buffer
        self._path.touch(_PRIVATE)
        file = self._path.open("ab", buffering=0)
        self._size = self._path.stat().st_size
        return file

    def write(self, text: bytes) -> None:
        """Append some whole lines. Raises OSError."""
        with self._lock:
            if self._standard:
                self._file.write(text)
                self._file.flush()
                return
            if self._size and self._size + len(text) > self._most:
                self._rotate()
            self._file.write(text)
            self._size += len(text)

    def _rotate(self) -> None:
        self._file.close()
        now = self._now()
        stamp = f"{now.strftime(_STAMP)}.{now.microsecond // 1000:03}"
        self._path.rename(self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}"))
        self._file = self._open()
        self._tidy()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def old(self) -> list[Path]:
        """The old files, latest first."""
        return [path for _, path in sorted(self._dated(), reverse=True)]

    def _dated(self) -> Iterator[tuple[datetime, Path]]:
        name = re.escape(self._path.stem) + r"-(.{19})\.(\d{3})" + re.escape(self._path.suffix) + r"(?:\.gz)?"
        for path in self._path.parent.iterdir():
            found = re.fullmatch(name, path.name)
            if found is not None:
                moment = datetime.strptime(found.group(1), _STAMP).replace(tzinfo=UTC)
                yield moment + timedelta(milliseconds=int(found.group(2))), path

    def _tidy(self) -> None:
        """Remove old files by number and age; compress the rest on request."""
        found = sorted(self._dated(), reverse=True)
        kept = found[: self._max_backup] if self._max_backup else found
        if self._max_age:
            oldest = self._now() - timedelta(days=self._max_age)
            kept = [each for each in kept if each[0] >= oldest]
        for each in found:
            if each not in kept:
                each[1].unlink(missing_ok=True)
        if self._compress:
            for _, path in kept:
                if path.suffix != ".gz":
                    _shrink(path)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if not self._standard:
                self._file.close()


def _shrink(path: Path) -> None:
    packed = path.with_name(f"{path.name}.gz")
    packed.touch(_PRIVATE)
    with path.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    path.unlink()
