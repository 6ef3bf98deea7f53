"""Templates of charts: what can be told of their documents without rendering them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from simkit.snapshot.sources import Piece

_ACTION: Final = re.compile(r"\{\{-? ?[^\s{]")
_BLOCK: Final = re.compile(r"\{\{-?\s*+(if|else|range|with|define|block|end)\b([^{}\n]*+)\}\}")
_SEPARATOR: Final = re.compile(r"^---[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_HEAD: Final = re.compile(r"^(apiVersion|kind):[ \t]*[\"']?([^\s\"'#]+)[\"']?[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_ANY_HEAD: Final = re.compile(r"^apiVersion:", re.MULTILINE)
_NAME: Final = re.compile(
    r"^metadata:[ \t]*+\r?\n(?:[ \t].*\n)*?[ \t]++name:[ \t]*+(\S++(?:[ \t]++\S++)*+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Template:
    """One document of a template, as far as its text tells it. Empty texts: it depends on values."""

    file: str
    line: int
    api_version: str
    kind: str
    name: str
    text: str = field(default="", repr=False, compare=False)
    """The document, from the line on."""
    conditions: tuple[str, ...] = field(default=(), compare=False)
    """The conditions under which it is rendered, as the template writes them: ``.Values.ingress.enabled``."""

    @property
    def is_plain(self) -> bool:
        """True if version and kind are written out."""
        return bool(self.api_version and self.kind)

    @property
    def asks_server(self) -> bool:
        """True if it is rendered for some servers only, by their release or by what they serve."""
        return any(".Capabilities." in each for each in self.conditions)


def is_template(piece: Piece) -> bool:
    """True if a text is a template of a chart, which has no objects before it is rendered."""
    if not isinstance(piece.content, str) or "templates" not in PurePath(piece.file).parts:
        return False
    return _ACTION.search(piece.content) is not None


def heads_of(piece: Piece) -> Iterator[Template]:
    """The documents of a template that speak of an API version.

    Examples
    --------
    >>> text = "apiVersion: batch/v1beta1\\nkind: CronJob\\nmetadata:\\n  name: {{ .Release.Name }}\\n"
    >>> [(each.api_version, each.kind) for each in heads_of(Piece("shop/templates/job.yaml", text))]
    [('batch/v1beta1', 'CronJob')]
    """
    text = piece.content if isinstance(piece.content, str) else ""
    for start, chunk in _chunks(text):
        first = _ANY_HEAD.search(chunk)
        if first is None:
            continue
        heads: dict[str, str] = {}
        versions = set()
        for key, value in _HEAD.findall(chunk):
            if "{{" in value or "}}" in value:
                continue
            heads.setdefault(key, value)
            if key == "apiVersion":
                versions.add(value)
        name = _NAME.search(chunk)
        line = text.count("\n", 0, start + first.start()) + 1
        plain = len(_ANY_HEAD.findall(chunk)) == 1 and len(versions) == 1
        version = heads.get("apiVersion", "") if plain else ""
        yield Template(
            piece.file, line, version, heads.get("kind", ""), name.group(1) if name else "", chunk[first.start() :],
            _conditions(text[: start + first.start()]),
        )  # fmt: skip


def _conditions(before: str) -> tuple[str, ...]:
    """The conditions of the blocks that a text leaves open; of a branch by ``else`` the opposite."""
    open_blocks: list[str] = []
    for match in _BLOCK.finditer(before):
        word, rest = match[1], " ".join(match[2].removesuffix("-").split())
        if word == "end":
            del open_blocks[-1:]
        elif word == "else":
            open_blocks[-1:] = [rest.removeprefix("if ") or f"not ({open_blocks[-1] if open_blocks else ''})"]
        else:
            open_blocks.append(rest if word == "if" else "")
    return tuple(filter(None, open_blocks))


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for mark in _SEPARATOR.finditer(text):
        yield start, text[start : mark.start()]
        start = mark.end()
    yield start, text[start:]
