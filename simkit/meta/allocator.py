"""Settings of the C library's allocator for processes that live long and compute in several threads.

glibc gives each thread that asks at the same time as another an arena of its own, up to eight for each core. What one
thread frees is not used by the next one, so the memory of a server grows to several times what it holds.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_M_ARENA_MAX: Final = -8
"""The parameter of ``mallopt`` (malloc.h of glibc)."""
_ARENAS: Final = 2


def share_arenas() -> None:
    """Have all threads share few arenas from now on. It has no effect where the C library is not glibc."""
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_M_ARENA_MAX, _ARENAS)
