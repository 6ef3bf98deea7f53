"""Facts measured from released servers and packages, from which the tables under ``datasets`` are compiled.

Each file holds one kind of measurement: what a server of release 1.30 served (discovery, columns, defaults, field
selectors, flags, default roles, admission, functions of CEL), what the types of its packages are (schemas, protobuf),
and which release serves which version since when. They hold no descriptions. ``write`` corrects a fact; the same
facts give the same bytes.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Final

import orjson

FOLDER: Final = Path(__file__).resolve().parent


def text(name: str, folder: Path = FOLDER) -> bytes:
    """The bytes of a file of facts; in a folder of ones own it may be uncompressed."""
    plain = folder / name
    return plain.read_bytes() if plain.is_file() else gzip.decompress((folder / f"{name}.gz").read_bytes())


def read(name: str, folder: Path = FOLDER) -> Any:
    """A table of facts, such as ``discovery-1.30.json``."""
    return orjson.loads(text(name, folder))


def write(name: str, value: Any) -> None:
    """Write a table of facts, which ``git diff`` then shows as changed."""
    data = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    (FOLDER / f"{name}.gz").write_bytes(gzip.compress(data, 9, mtime=0))
