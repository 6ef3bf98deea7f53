"""Prints the files that the first answer of the playground reads, as JSON: ``python -m tools.playground.first``."""

from __future__ import annotations

import json
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

ABSENT: Final = ("numpy", "pandas", "pyarrow", "orjson", "cryptography", "re2", "_re2", "google", "_yaml", "matplotlib")
"""What no browser's Python has, so that the page does without."""


class BrowserFinder(PathFinder):
    """Finds modules as the page's Python does: without those that are absent there, and with the stand-ins."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module, if the page has it."""
        own = name.rpartition(".")[2]
        if name in ("orjson", "simkit.engine.authn.signing_keys"):
            return spec_from_file_location(name, Path(__file__).parent / f"stand_ins/{own}.py")
        absent = name.partition(".")[0] in ABSENT or name == "yaml._yaml"
        return None if absent else PathFinder.find_spec(name, path, target)


def without_absent_modules() -> None:
    """Let this process import from now on what a browser's Python has, and nothing else."""
    sys.meta_path[:] = [BrowserFinder if finder is PathFinder else finder for finder in sys.meta_path]


def main() -> None:
    """Open the demo cluster, ask a question, and print what was read."""
    read: set[str] = set()
    root = str(Path(__file__).resolve().parents[2])

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(root):
            read.add(str(arguments[0]))

    without_absent_modules()
    sys.addaudithook(heard)
    from tools.playground.answers import Playground

    playground = Playground()
    for message in ({"ask": "open", "paths": []}, {"ask": "who_can", "verb": "get", "resource": "secrets"}):
        answer = json.loads(playground.ask(json.dumps(message)))
        assert "answer" in answer, answer
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    print(json.dumps(sorted({*read, *filter(None, files)})))


if __name__ == "__main__":
    main()
