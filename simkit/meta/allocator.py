"""Settings of the C library's allocator for processes that live long and compute in several threads.

glibc gives each thread that asks at the same time as another an arena of its own, up to eight for each core. What one
thread frees is not used by the next one, so the memory of a server grows to several times what it holds.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Final

_M_ARENA_MAX: Final = -8
"""The parameter of ``mallopt`` (malloc.h of glibc)."""
_ARENAS: Final = 2


@lru_cache(maxsize=1)
def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None


def share_arenas() -> None:
    """Have all threads share few arenas from now on. It has no effect where the C library is another one."""
    library = _glibc()
    if library is not None:
        library.mallopt(_M_ARENA_MAX, _ARENAS)


def return_free_memory() -> None:
    """Give free pages back to the system. It has no effect where the C library is another one.

    The interpreter is not held meanwhile.
    """
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)
