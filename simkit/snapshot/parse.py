"""The documents of one text; unreadable parts are reported and skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from simkit.snapshot.document import Advance, Document
from simkit.snapshot.jsondocuments import json_documents
from simkit.snapshot.report import Report
from simkit.snapshot.sources import Piece
from simkit.snapshot.templates import is_template

_LOGS_MARK: Final = "==== START logs for container "
_LOGS: Final = re.compile(rf"^{_LOGS_MARK}.*?^==== END logs for container [^\n]*$", re.DOTALL | re.MULTILINE)
"""The lines of ``kubectl cluster-info dump`` between objects."""
_CHATTER: Final = re.compile(r"(?:Warning: |Error from server|error: |No resources found|[WEI]\d{4} )")


def documents(piece: Piece, report: Report, advance: Advance) -> Iterator[Document]:
    """The documents of a piece, in order. Unreadable parts are reported."""
    if isinstance(piece.content, Mapping):
        yield Document(piece.content, None)
        return
    text, skipped = _without_chatter(piece, report)
    if _LOGS_MARK in text:
        text = _LOGS.sub(lambda logs: "\n" * logs.group().count("\n"), text)
    start = text.lstrip()[:1]
    if is_template(piece):
        report.add(
            piece.file, None, "a template of a chart, which has no objects yet", "load what `helm template` writes"
        )
    elif not start:
        report.add(piece.file, None, "nothing is in it", "the command that wrote it may have failed; run it again")
    elif start in ("{", "["):
        yield from json_documents(piece.file, text, skipped + 1, report, advance)
    else:
        from simkit.snapshot.yamldocuments import yaml_documents  # PyYAML, which most dumps do without

        yield from yaml_documents(piece.file, text, skipped + 1, report, advance)


def _without_chatter(piece: Piece, report: Report) -> tuple[str, int]:
    """The text without messages of kubectl in front, and their number of lines."""
    assert isinstance(piece.content, str)
    text, lines = piece.content, 0
    while _CHATTER.match(text):
        said, _, text = text.partition("\n")
        lines += 1
        hint = "it came from the command that wrote the file; see whether something is missing"
        report.add(piece.file, lines, f"not an object: {said.strip()!r}", hint, weight="note")
    return text, lines
