"""Reading of tar archives made by anybody: headers that announce headers are read one within the other."""

from __future__ import annotations

import zlib
from lzma import LZMAError
from tarfile import ReadError, TarError, TarFile, TarInfo
from typing import Final, Self

DAMAGES: Final = (TarError, EOFError, OSError, ValueError, OverflowError, zlib.error, LZMAError)
"""The errors of reading a damaged archive."""
_MOST_HEADERS: Final = 16
"""Headers of a file, each within the one before: a long name, a long target, attributes of the file and of all."""


class _Header(TarInfo):
    @classmethod
    def fromtarfile(cls, archive: TarFile) -> Self:
        """The next header with those that it announces."""
        assert isinstance(archive, TarArchive)
        archive.headers += 1
        try:
            if archive.headers > _MOST_HEADERS:
                raise ReadError("a header announces a header, and so on")
            return super().fromtarfile(archive)
        finally:
            archive.headers -= 1


class TarArchive(TarFile):
    """A tar archive that is refused, with a ReadError, where headers announce headers more than sixteen times.

    Examples
    --------
    >>> import io
    >>> empty = io.BytesIO()
    >>> TarArchive.open(fileobj=empty, mode="w").close()
    >>> TarArchive.open(fileobj=io.BytesIO(empty.getvalue())).getnames()
    []
    """

    tarinfo = _Header
    headers = 0
