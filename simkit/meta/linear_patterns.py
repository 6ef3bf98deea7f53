"""RE2, the engine of regular expressions whose time grows with the length of a text, as Go's does."""

from __future__ import annotations

from typing import Any

from simkit.meta.errors import SimkitError


def re2_module() -> Any:
    """The module ``re2``. It is loaded with the first pattern: there is no build of it for browsers.

    Raises
    ------
    SimkitError
        Where the distribution google-re2 is not installed.
    """
    try:
        import re2
    except ModuleNotFoundError:
        raise SimkitError(
            "regular expressions need the distribution google-re2, which is not installed; there is none for browsers"
        ) from None
    return re2
