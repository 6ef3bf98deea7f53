"""The packed files of audit logs: gzip and Zstandard."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any, Final

from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError


@dataclass(frozen=True, slots=True)
class Packing:
    """A way of packing files.

    Attributes
    ----------
    open
        Unpacks a file while it is read.
    errors
        What it raises for damaged files.
    unpack
        The command that unpacks a file.
    """

    open: Callable[[IO[bytes]], Any]
    errors: tuple[type[Exception], ...]
    unpack: str


_GZIP: Final = Packing(lambda file: gzip.GzipFile(fileobj=file), (EOFError, gzip.BadGzipFile, zlib.error), "gzip -dc")


def packing_of(beginning: bytes) -> Packing | None:
    """How a file with these first four bytes is packed; None if it is not.

    Raises
    ------
    SimkitError
        For Zstandard without the library that unpacks it.
    """
    if beginning[:2] == b"\x1f\x8b":
        return _GZIP
    if beginning != b"\x28\xb5\x2f\xfd":
        return None
    try:
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError as missing:
        hint = install_hint("history")
        raise SimkitError(f"reading .zst files needs {missing.name}: {hint}, or unpack it with zstd -d") from missing
    return Packing(zstd.ZstdFile, (EOFError, zstd.ZstdError), "zstd -dc")
