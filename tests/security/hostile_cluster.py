"""The bundled cluster in which an attacker chose every name, and what its outputs are read with."""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import mistune

from simkit.meta import datasets

HOSTILE: Final = str(datasets.path("clusters/hostile.json"))
OURS: Final = frozenset(
    [
        "p",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "code",
        "pre",
        "h3",
        "strong",
        "details",
        "summary",
        "b",
        "wbr",
    ]
)
"""Elements of HTML that simkit writes itself."""
BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\ufe00\ufe0f\uffa0\U0001d159\U000e0100\U000e01ef"
)
"""Characters that show nothing, though Python takes them for printable."""
_STUB: Final = """#!/bin/bash
{ printf '%s\\0' "$@"; printf '\\1\\0'; } >> "$LOG"
"""


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.classes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.classes |= {word for name, value in attrs if name == "class" for word in (value or "").split()}


def rendered(markdown: str) -> Elements:
    """The elements that a code host makes of markdown, raw HTML, tables and bare addresses included."""
    read = mistune.create_markdown(escape=False, plugins=["table", "url", "strikethrough", "task_lists", "footnotes"])
    return Elements(str(read(markdown)))


def assert_shown_as_text(text: str) -> None:
    """Assert that no text acts on a terminal or a build log."""
    assert_visible(text)
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "##vso[" not in text
    assert "##teamcity[" not in text


def assert_visible(text: str) -> None:
    """Assert that each character of some lines is seen, and turns nothing that stands beside it."""
    assert not {letter for letter in text if not letter.isprintable() and letter not in "\n\t"}
    assert not set(text) & BLANK


def formulas(text: str) -> list[str]:
    """Cells of a CSV text that a spreadsheet would calculate; a negative number is none."""
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row if not cell.removeprefix("-").isdecimal()]
    return [cell for cell in cells if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]


def run_by_shell(commands: Iterable[str], folder: Path) -> list[list[str]]:
    """The arguments with which a shell calls kubectl for some lines; nothing else may have happened."""
    programs, work, log = folder / "bin", folder / "work", folder / "log"
    programs.mkdir()
    work.mkdir()
    (programs / "kubectl").write_text(_STUB)
    (programs / "kubectl").chmod(0o755)
    script = folder / "script"
    script.write_text("\n".join(commands), encoding="utf-8")
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "LOG": str(log), "LC_ALL": "C.UTF-8"}
    subprocess.run(["bash", str(script)], stdin=subprocess.DEVNULL, cwd=work, env=environment, check=True, timeout=60)
    assert list(work.iterdir()) == []
    calls = log.read_bytes().decode().split("\0\1\0")
    return [call.split("\0") for call in calls[:-1]]
