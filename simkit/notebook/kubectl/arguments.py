"""The flags of the commands that simkit has without a kubectl."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

from simkit.notebook.kubectl.client import KubectlError

_VALUED = (
    ("-n", "--namespace"), ("-o", "--output"), ("-l", "--selector"), ("-c", "--container"), ("-p", "--patch"),
    ("--sort-by",), ("--timeout",), ("--field-selector",), ("--subresource",), ("--dry-run",), ("--type",),
    ("--api-group",), ("--namespaced",), ("--verbs",), ("--categories",), ("--field-manager",), ("--grace-period",),
    ("--cascade",),
)  # fmt: skip
_REPEATED = (("-f", "--filename"), ("-L", "--label-columns"), ("--as-group",))
_SWITCHES = (
    ("-A", "--all-namespaces"), ("-q", "--quiet"), ("--previous",), ("--timestamps",), ("--list",),
    ("--ignore-not-found",), ("--show-labels",), ("--show-kind",), ("--no-headers",), ("--overwrite",), ("--all",),
    ("--server-side",), ("--force-conflicts",), ("--force",), ("--now",),
)  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are kubectl's."""

    def error(self, message: str) -> NoReturn:
        raise KubectlError(f"error: {message}")


@cache
def _parser() -> Any:
    made = _Parser(add_help=False, allow_abbrev=False, prog="kubectl")
    made.add_argument("words", nargs="*")
    for names in _VALUED:
        made.add_argument(*names, default="")
    for names in _REPEATED:
        made.add_argument(*names, action="append", default=[])
    for names in _SWITCHES:
        made.add_argument(*names, action="store_true")
    made.add_argument("--as", dest="as_", default="")
    made.add_argument("--for", dest="for_", default="")
    made.add_argument("--tail", default="-1")
    return made


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The words and flags of a command. Raises KubectlError for a flag that is not known."""
    if words[:1] == ["logs"]:
        words = ["--previous" if word == "-p" else word for word in words]
    switches = {name for names in _SWITCHES for name in names}
    kept = list[str]()
    for word in words:
        flag, _, value = word.partition("=")
        if flag not in switches or value not in ("true", "false"):
            kept.append(word)
        elif value == "true":
            kept.append(flag)
    args, rest = _parser().parse_known_args(kept)
    unknown = [each for each in rest if each.startswith("-")]
    if unknown:
        raise KubectlError(f"error: unknown flag: {unknown[0].partition('=')[0]}")
    if args.as_group and not args.as_:
        raise KubectlError("error: --as-group needs a user; next: --as=NAME --as-group=GROUP")
    args.words = [*args.words, *rest]
    found: argparse.Namespace = args
    return found
