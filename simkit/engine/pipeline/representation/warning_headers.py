"""The Warning headers of an answer, within a limit.

Upstream: k8s.io/apiserver/pkg/endpoints/filters/warning.go and ``NewWarningHeader`` of
k8s.io/apimachinery/pkg/util/net/http.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_TOTAL: Final = 4 * 1024
"""Letters that all warnings may have together before each is cut."""
_EACH: Final = 256
"""Letters that a warning keeps then."""
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def warning_headers(texts: Iterable[str]) -> Sequence[tuple[str, str]]:
    """A header for each different text. Where they are too long, each is cut, and the last ones are left out.

    A text with control characters has none: it could begin another header.

    Examples
    --------
    >>> warning_headers(['unknown field "a"', "", "two\\r\\nlines", 'unknown field "a"'])
    [('Warning', '299 - "unknown field \\\\"a\\\\""')]
    >>> sum(len(text) for _, text in warning_headers(f"{number} " + "x" * 300 for number in range(9999))) < 5000
    True
    """
    told: dict[str, None] = {}
    written, cut = 0, False
    for text in texts:
        if not text or text in told or _CONTROL.search(text):
            continue
        if cut and written >= _TOTAL:
            break
        told[text] = None
        written += min(len(text), _EACH) if cut else len(text)
        if not cut and written > _TOTAL:
            cut = True
            written = sum(min(len(each), _EACH) for each in told)
    return [("Warning", f'299 - "{_escaped(text[:_EACH] if cut else text)}"') for text in told]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
