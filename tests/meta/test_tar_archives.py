"""Archives whose headers announce headers."""

from __future__ import annotations

import io
from tarfile import PAX_FORMAT, SYMTYPE, ReadError, TarInfo

import pytest

from simkit.meta.tar_archives import TarArchive


def test_headers_that_files_have_are_read() -> None:
    """Attributes of the archive and of the file, a long name and a long target."""
    made = io.BytesIO()
    with TarArchive.open(fileobj=made, mode="w", format=PAX_FORMAT, pax_headers={"comment": "of all"}) as archive:
        entry = TarInfo("a" * 300)
        entry.type, entry.linkname, entry.pax_headers = SYMTYPE, "b" * 300, {"comment": "of one"}
        archive.addfile(entry)
    (found,) = TarArchive.open(fileobj=io.BytesIO(made.getvalue())).getmembers()
    assert (found.name, found.linkname) == (entry.name, entry.linkname)
    assert found.pax_headers["comment"] == "of one"


@pytest.mark.parametrize("times", [17, 100_000])
def test_headers_without_end_are_damage(times: int) -> None:
    """They are refused by their number, whatever Python's limit of recursion is."""
    header = TarInfo("a" * 200).tobuf()
    long_name, file = header[:1024], header[1024:]
    with pytest.raises(ReadError, match="a header announces a header"):
        TarArchive.open(fileobj=io.BytesIO(long_name * times + file))
