"""Coverage-guided fuzzing of one reader: ``python -m tests.fuzz TARGET [-max_total_time=60]``. Needs the dependency group ``fuzz``."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["simkit"]):
    from tests.fuzz.targets import TARGETS, read


def main() -> None:
    """Fuzz until told to stop; a crash leaves its input in a file."""
    name, *options = sys.argv[1:] or [""]
    if name not in TARGETS:
        sys.exit(f"name one of {', '.join(TARGETS)}")
    corpus = Path(__file__).parent / "corpus" / name
    corpus.mkdir(exist_ok=True)
    atheris.Setup([sys.argv[0], str(corpus), *options], lambda data: read(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
