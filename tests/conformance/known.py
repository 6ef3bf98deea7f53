"""The differences from kube-apiserver that are known: ``known.json``, by recording, area and case."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("known.json")
UNEXPLAINED: Final = "not looked into yet"


@dataclass(frozen=True, slots=True)
class Known:
    """The known differences of an area: the reason, and the steps of each case."""

    reason: str = UNEXPLAINED
    cases: Mapping[str, Sequence[int]] = field(default_factory=dict)


Table = Mapping[str, Mapping[str, Known]]
"""By recording and area."""


def read() -> Table:
    """The table as it is recorded."""
    raw = json.loads(_FILE.read_text()) if _FILE.exists() else {}
    return {
        bundle: {area: Known(each["reason"], each["cases"]) for area, each in areas.items()}
        for bundle, areas in raw.items()
    }


def write(table: Table) -> None:
    """Record a table; areas without differences are left out."""
    raw = {
        bundle: {
            area: {"reason": known.reason, "cases": dict(sorted(known.cases.items()))}
            for area, known in sorted(areas.items())
            if known.cases
        }
        for bundle, areas in sorted(table.items())
    }
    text = json.dumps(raw, indent=1)
    _FILE.write_text(_compact(text) + "\n")


def _compact(text: str) -> str:
    """JSON whose lists of numbers stand on one line each."""
    return re.sub(r"\[[\s\d,]*\]", lambda match: "[" + ", ".join(re.findall(r"\d+", match[0])) + "]", text)
