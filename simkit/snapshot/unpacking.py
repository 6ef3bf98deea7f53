"""Limits for unpacking: a small file can expand to terabytes."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from typing import Final

from simkit.snapshot.report import Report

_AT_ONCE: Final = 1 << 20
_GRACE: Final = 64 << 20
"""Bytes that any source may unpack to, however small it is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of reading a source. Everything beyond is reported and left out.

    Examples
    --------
    >>> Limits(unpacked_bytes=64 << 30).ratio
    200
    """

    unpacked_bytes: int = 4 << 30
    """Unpacked bytes of all compressed files and archives of a source together."""
    ratio: int = 200
    """The ratio of unpacked to packed bytes beyond the first 64 MiB. Dumps have 10 to 50."""
    nesting: int = 3
    """The depth of packing: compressed, archive, compressed."""


DEFAULT_LIMITS: Final = Limits()


@dataclass(slots=True)
class Unpacking:
    """Unpacks within limits for the source as a whole."""

    report: Report
    limits: Limits = DEFAULT_LIMITS
    release: str = "1.30"
    """By which a backup of etcd is read."""
    used: int = 0

    def gunzipped(self, name: str, content: bytes) -> bytes | None:
        """The unpacked content; of damaged content the part before the damage; None if it exceeds the limits."""
        found, hint = bytearray(), "fetch it again; what comes before the damage was read"
        most = self._most(len(content))
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
                while part := stream.read1(_AT_ONCE):
                    found += part
                    if len(found) > most:
                        self._refuse(name, most)
                        return None
        except (OSError, EOFError, zlib.error) as error:
            self.report.add(name, None, f"the compressed file is damaged ({error})", hint)
        self.used += len(found)
        return bytes(found)

    def has_room(self, name: str, size: int, *, packed: int) -> bool:
        """True if a member of an archive may be read; otherwise reports it.

        An archive of so many packed bytes may announce any size: a sparse member takes no room in it.
        """
        most = self._most(packed)
        if size > most:
            self._refuse(name, most)
            return False
        self.used += size
        return True

    def may_open(self, name: str, depth: int) -> bool:
        """True if packed content at this depth may be opened; otherwise reports it."""
        if depth < self.limits.nesting:
            return True
        what = f"it is packed more than {self.limits.nesting} times"
        raised = f"--unpack nesting={depth + 1}, Limits(nesting={depth + 1})"
        self.report.add(name, None, what, f"it was left out; unpack it, or raise the limit: {raised}")
        return False

    def _most(self, packed: int) -> int:
        """The bytes that so many packed ones may still become."""
        return min(self.limits.unpacked_bytes - self.used, max(_GRACE, self.limits.ratio * packed))

    def _refuse(self, name: str, most: int) -> None:
        what = f"it unpacks to more than {most:,} bytes, which is more than a dump does or may"
        raised = "--unpack bytes=64Gi,ratio=1000, Limits(unpacked_bytes=..., ratio=...)"
        hint = f"it was left out; if it is to be trusted, unpack it, or raise the limit: {raised}"
        self.report.add(name, None, what, hint)
