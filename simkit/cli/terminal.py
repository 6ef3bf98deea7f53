"""The terminal: escaped text, colours, width, and a pager for long answers."""

from __future__ import annotations

import io
import os
import shlex
import sys
from dataclasses import dataclass
from typing import Any, Final, TextIO

from simkit.present import progress
from simkit.present.escaping import terminal_text

_PAGER: Final = "less"
_STREAMS: Final = 3


@dataclass
class Settings:
    """The settings of ``--no-color``, ``--no-pager``, ``--no-headers`` and ``--quiet``."""

    color: bool = True
    pager: bool = True
    heads: bool = True
    quiet: bool = False


settings = Settings()


class TerminalText:
    """A stream whose text cannot control the terminal or a build log.

    Commands write texts of a cluster, which anybody may have chosen; colours are put around escaped texts, with
    ``write_escaped``. Where ``pages`` is set, what is written waits for ``flush`` or ``finish``, so that a long answer
    is shown page by page.
    """

    def __init__(self, stream: TextIO, *, pages: bool = False) -> None:
        self._stream, self._pages = stream, pages
        self._waiting: list[str] = []

    def write(self, text: str) -> int:
        """Write the text with control characters escaped."""
        return self.write_escaped(terminal_text(text))

    def write_escaped(self, text: str) -> int:
        """Write a text in which all outside content is escaped already."""
        if self._pages:
            self._waiting.append(text)
            return len(text)
        progress.clear()
        return self._stream.write(text)

    def flush(self) -> None:
        """Write the buffered text, without a pager."""
        progress.clear()
        self._stream.write(self._taken())
        self._stream.flush()

    def finish(self) -> None:
        """Write the buffered text, with a pager if it is longer than the terminal."""
        import shutil  # whose formats of archives no server needs

        text = self._taken()
        if text.count("\n") < shutil.get_terminal_size().lines or not _paged(text):
            self._stream.write(text)
        self._stream.flush()

    def _taken(self) -> str:
        text = "".join(self._waiting)
        self._waiting.clear()
        return text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def settle_streams() -> None:
    """Have all three standard streams, and text in UTF-8 as every format of answers needs it.

    Where one is closed, the next file that is opened, such as a store, would become it, and be written into.
    """
    for number in range(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BytesIO())
    sys.stdout = _in_utf8(sys.stdout)
    sys.stderr = _in_utf8(sys.stderr)


def _in_utf8(stream: TextIO | None) -> TextIO:
    if stream is None:
        return io.StringIO()
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    elif isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # a terminal shows what its encoding has
    return stream


def is_terminal() -> bool:
    """True if standard output is a terminal."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def has_pager() -> bool:
    """True if long answers are shown page by page."""
    return settings.pager and is_terminal()


def has_color() -> bool:
    """True if colours are written: neither ``--no-color`` nor NO_COLOR is given."""
    return settings.color and not os.environ.get("NO_COLOR")


def write_escaped(text: str) -> None:
    """Write a text with colours to standard output."""
    out = sys.stdout
    if isinstance(out, TerminalText):
        out.write_escaped(text)
    else:
        out.write(text)


def _paged(text: str) -> bool:
    """Show the text with $PAGER, or ``less`` if it exists; False if no pager could be started."""
    import shutil  # as above
    import subprocess

    words = shlex.split(os.environ.get("SIMKIT_PAGER") or os.environ.get("PAGER") or _PAGER)
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return False
    # F ends at once where the text fits, R shows colours, S does not wrap lines, X leaves the text on the screen.
    environment = {"LESS": "FRSX", **os.environ}
    with subprocess.Popen(words, stdin=subprocess.PIPE, text=True, env=environment) as pager:  # noqa: S603
        assert pager.stdin is not None
        try:
            pager.stdin.write(text)
            pager.stdin.close()
        except BrokenPipeError:
            pass  # whoever reads has seen enough
    return True
