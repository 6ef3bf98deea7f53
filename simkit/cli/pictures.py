"""The option ``--plot``: the picture of an answer in a file."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any, Final, Protocol

from simkit.cli.notes import note
from simkit.meta.errors import SimkitError
from simkit.meta.whole_file import write_whole

FORMS: Final = (".png", ".svg", ".pdf")


class Drawn(Protocol):
    """An answer with a picture: a result, or a table of one."""

    @property
    def plot(self) -> Any: ...


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--plot`` to a command."""
    parser.add_argument("--plot", type=_picture, metavar="FILE", help="write a picture: .png, .svg or .pdf")
    parser.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="the colours of the picture (default: light)"
    )


def write_plot(answer: Drawn, args: argparse.Namespace) -> None:
    """Write the picture of an answer, if it is wanted, and say where it is."""
    if args.plot is None:
        return
    picture = io.BytesIO()
    try:
        from simkit.analysis.plots import theme

        with theme(args.theme):
            answer.plot().figure.savefig(picture, format=args.plot.suffix.lower().removeprefix("."))
    except SimkitError as nothing:  # an answer without anything to draw is an answer all the same
        note(f"no picture was written: {nothing}")
    else:
        write_whole(args.plot, picture.getvalue())
        note(f"wrote the picture to {args.plot}")


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in FORMS:
        raise argparse.ArgumentTypeError(f"{text!r} names no picture; it has to end in {', '.join(FORMS)}")
    return path
