"""Programs as files of containers, where scripts and clients look for a shell or a tool before they use it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from simkit.simulation.kubelet.images import image_name
from simkit.simulation.shell.commands import COMMANDS

_WITHIN_SHELLS: Final = frozenset(
    {
        ".", ":", "alias", "break", "builtin", "caller", "cd", "command", "continue", "declare", "dirs", "enable",
        "eval", "exec", "exit", "export", "getopts", "hash", "jobs", "let", "local", "mapfile", "popd", "pushd",
        "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "trap", "type", "typeset",
        "ulimit", "umask", "unalias", "unset", "wait",
    }
)  # fmt: skip
"""Commands that are no programs."""
_WITHOUT_BASH: Final = frozenset({"busybox", "alpine"})
_CONTENT: Final = b"\x7fELF"


@cache
def _files(*, bash: bool) -> Mapping[str, bytes]:
    names = COMMANDS.keys() - _WITHIN_SHELLS - ({"bash"} if not bash else set())
    return MappingProxyType(dict.fromkeys((*(f"/bin/{name}" for name in names), "/usr/bin/env"), _CONTENT))


def programs_of(image: str, others: Collection[str] = ()) -> Mapping[str, bytes]:
    """The programs that an image has, as files.

    They are where the image of busybox has them, which ``which`` says too; ``others`` are in ``/usr/local/bin``.

    Examples
    --------
    >>> found = programs_of("alpine:3.20")
    >>> "/bin/sh" in found, "/bin/bash" in found, "/bin/cd" in found
    (True, False, False)
    """
    found = _files(bash=image_name(image) not in _WITHOUT_BASH)
    return {**found, **dict.fromkeys((f"/usr/local/bin/{name}" for name in others), _CONTENT)} if others else found
