"""Bounds of what a source may unpack to: a small file from somebody else can hold terabytes of nothing."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from typing import Final

from simkit.snapshot.report import Report

_AT_ONCE: Final = 1 << 20
_GRACE: Final = 64 << 20
"""Bytes that anything may unpack to, however small it is packed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a source may cost to read. What goes beyond is reported and left out, and the rest is read.

    Examples
    --------
    >>> Limits(unpacked_bytes=64 << 30).ratio
    200
    """

    unpacked_bytes: int = 4 << 30
    """Bytes of all compressed files and archives of a source together, once they are unpacked."""
    ratio: int = 200
    """How many bytes each compressed one may become, beyond the first 64 MiB. Dumps come to 10 or 50."""
    nesting: int = 3
    """How often something may be packed within something packed: compressed, archive, compressed."""


DEFAULT_LIMITS: Final = Limits()


@dataclass(slots=True)
class Unpacking:
    """Unpacks within limits, which hold for the source as a whole."""

    report: Report
    limits: Limits = DEFAULT_LIMITS
    used: int = 0

    def gunzipped(self, name: str, content: bytes) -> bytes | None:
        """The unpacked content; of damaged content what comes before the damage; None where it is too much."""
        found, hint = bytearray(), "fetch it again; what comes before the damage was read"
        most = min(self.limits.unpacked_bytes - self.used, max(_GRACE, self.limits.ratio * len(content)))
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

    def has_room(self, name: str, size: int) -> bool:
        """True if a member of an archive may be read; says so if not."""
        if self.used + size > self.limits.unpacked_bytes:
            self._refuse(name, self.limits.unpacked_bytes - self.used)
            return False
        self.used += size
        return True

    def may_open(self, name: str, depth: int) -> bool:
        """True if something packed that stands so deep may be opened; says so if not."""
        if depth < self.limits.nesting:
            return True
        what = f"it is packed more than {self.limits.nesting} times"
        self.report.add(name, None, what, "it was left out; unpack it, or raise Limits(nesting=...)")
        return False

    def _refuse(self, name: str, most: int) -> None:
        what = f"it unpacks to more than {most:,} bytes, which is more than a dump does or may"
        hint = "it was left out; if it is to be trusted, unpack it, or raise Limits(unpacked_bytes=..., ratio=...)"
        self.report.add(name, None, what, hint)
