"""``simkit completion``: shell scripts that complete commands, options, kinds, and names in a dump."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import is_visible

if TYPE_CHECKING:
    from simkit.snapshot.dump import Dump

DESCRIPTION = "Prints a script that lets your shell complete simkit commands."
EXAMPLES = """\
examples:
  source <(simkit completion bash)                                   # in this shell; in ~/.bashrc for each
  simkit completion zsh > "${fpath[1]}/_simkit"                      # then start a new shell
  simkit completion fish > ~/.config/fish/completions/simkit.fish

Kinds, namespaces, names and subjects are completed too, from the dump on the command line or in SIMKIT_DUMP.

Exit code: 0, or 2 for wrong use.
"""
SHELLS: Final = ("bash", "zsh", "fish")
ASKED: Final = "_ARGCOMPLETE"
"""The environment variable by which the shell asks for completions."""
_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_MORE_VERBS: Final = ("bind", "escalate", "impersonate", "approve", "sign", "use", "*")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["simkit"], shell=args.shell).strip())
    return 0


def words_of_line() -> list[str]:
    """The words of the command line to complete, without the program."""
    return os.environ.get("COMP_LINE", "").split()[1:]


def complete(parser: argparse.ArgumentParser) -> None:
    """Print the completions for the shell and end the process."""
    from argcomplete import autocomplete

    _attach(parser)
    autocomplete(parser)


def _attach(parser: argparse.ArgumentParser) -> None:
    """Give each argument that names a Kubernetes object or kind its completer."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _attach(below)
        elif action.dest in _COMPLETERS:
            action.completer = _COMPLETERS[action.dest]  # type: ignore[attr-defined]


Completer = Callable[..., Iterable[str]]


def _offered(names: Iterable[str]) -> list[str]:
    """The names of a dump that are offered: wholly visible ones that are no option.

    What a shell inserts is part of a command, and a name from a dump may be any text: a line break would make two words
    of it. What shells expand is quoted by them, for bash by argcomplete.
    """
    return sorted({name for name in names if is_visible(name) and not name.startswith("-")})


def _verbs(**_: Any) -> Iterable[str]:
    return (*_VERBS, *_MORE_VERBS)


def _kinds(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    from simkit.schema.catalogue import Catalogue

    catalogue = Catalogue.for_release(getattr(parsed_args, "reading_release", None) or "1.30")
    return sorted({resource.resource for resource in catalogue.resources()})


def _api_groups(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    from simkit.schema.catalogue import Catalogue

    catalogue = Catalogue.for_release(getattr(parsed_args, "reading_release", None) or "1.30")
    return [group.name for group in catalogue.groups() if group.name]


def _releases(**_: Any) -> Iterable[str]:
    from simkit.schema.releases import RELEASES

    return RELEASES


def _namespaces(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    dump = _dump(parsed_args)
    return _offered(key.namespace for key in dump.keyed if key.namespace) if dump else ()


def _names(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    """The names of objects of the kind and namespace on the command line."""
    dump = _dump(parsed_args)
    if dump is None:
        return ()
    try:
        wanted = dump.index.catalogue.lookup(parsed_args.resource).storage
    except SimkitError:
        return ()
    where = getattr(parsed_args, "namespace", None)
    return _offered(key.name for key in dump.keyed if key.resource == wanted and where in (None, "", key.namespace))


def _subjects(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    from simkit.analysis.rbac.objects import all_bindings
    from simkit.analysis.rbac.subject import text_of

    dump = _dump(parsed_args)
    if dump is None:
        return ()
    try:
        return _offered(text_of(each) for binding in all_bindings(dump.snapshot()) for each in binding.subjects)
    except SimkitError:
        return ()


def _dump(args: argparse.Namespace) -> Dump | None:
    """The dump that the command line names."""
    from simkit.cli.source import demo_path, paths_of
    from simkit.snapshot.load import load

    paths = [str(demo_path())] if getattr(args, "demo", False) else paths_of(args)
    paths = paths or [path for path in (os.environ.get("SIMKIT_DUMP"),) if path]
    try:
        return load([path for path in paths if path != "-"]) if paths else None
    except (SimkitError, OSError):
        return None


_COMPLETERS: Final[Mapping[str, Completer]] = {
    "verb": _verbs,
    "resource": _kinds,
    "name": _names,
    "namespace": _namespaces,
    "user": _subjects,
    "subject": _subjects,
    "sources": _subjects,
    "keep": _subjects,
    "allow": _subjects,
    "api_group": _api_groups,
    "release": _releases,
    "reading_release": _releases,
    "other": _releases,
}
