"""Words that a command line has at a place of its own: positional ones behind options, and paths without ``--dump``."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simkit.meta.errors import SimkitError

DUMP_VARIABLE: Final = "SIMKIT_DUMP"
"""The environment variable with the path of the dump that commands read when nothing else is named."""
_LIKE_A_PATH: Final = re.compile(r"[./\\]")
_SUBJECT: Final = re.compile(r"(user|group|sa|pod):.")


def place_loose_words(command: argparse.ArgumentParser, args: argparse.Namespace, words: Sequence[str]) -> list[str]:
    """Give words that argparse left over to the positional arguments which are still empty; what remains.

    argparse fills positional arguments from the first run of words only: it would not read the last word of
    ``who-can get secrets -n payments cluster.yaml``.
    """
    left = list(words)
    if any(word.startswith("-") and word != "-" for word in left):
        return left
    for action in command._actions:
        if action.option_strings or not left:
            continue
        if action.nargs in ("*", "+"):
            setattr(args, action.dest, [*(getattr(args, action.dest) or ()), *left])
            return []
        if action.nargs == "?" and not getattr(args, action.dest):
            setattr(args, action.dest, left.pop(0))
    if left and hasattr(args, "words_before_path") and not _is_chosen(args):
        args.dump = left
        return []
    return left


def settle_source(args: argparse.Namespace) -> None:
    """Find out which words are paths where no option says it. Raises SimkitError where none can be one.

    A word like ``group:devs`` among the paths is the subject of a command that has one. Where nothing says what to look
    at, the last word does: ``who-can get secrets cluster.yaml``; and without such a word, ``SIMKIT_DUMP``.
    """
    if not {"dump", "demo"} <= vars(args).keys():
        return
    _take_subjects(args)
    if _is_chosen(args):
        return
    usual = os.environ.get(DUMP_VARIABLE)
    for name in getattr(args, "words_before_path", ()):
        value = getattr(args, name)
        word = value[-1] if isinstance(value, list) and value else value
        if word:
            if not usual and _names_no_file(word):
                raise SimkitError(
                    f"no dump is named, and {word} is no file or folder here: name a dump as the last word or with "
                    "--dump, or take the demo cluster with --demo"
                )
            if not usual or word == "-" or Path(word).exists():
                setattr(args, name, value[:-1] if isinstance(value, list) else "")
                args.dump = [word]
                return
            break
    if usual:
        args.dump = [usual]


def _names_no_file(word: str) -> bool:
    """True for a word that is no path and does not look like one."""
    return word != "-" and not _LIKE_A_PATH.search(word) and not Path(word).exists()


def _is_chosen(args: argparse.Namespace) -> bool:
    live = any(getattr(args, name, None) is not None for name in ("context", "kubeconfig"))
    return bool(getattr(args, "path", ()) or args.dump or args.demo or live)


def _take_subjects(args: argparse.Namespace) -> None:
    paths = getattr(args, "path", None)
    if not paths or "subject" not in vars(args):
        return
    named = [word for word in paths if _SUBJECT.match(word) and not Path(word).exists()]
    if named:
        args.path = [word for word in paths if word not in named]
        args.subject = [*(args.subject or ()), *named]
