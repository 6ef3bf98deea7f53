"""Users and groups by name: ``id``, ``whoami`` and ``groups``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from simkit.simulation.shell.effects import error, line
from simkit.simulation.shell.machine import Machine, Run

_USERS: Final = "/etc/passwd"
_GROUPS: Final = "/etc/group"
_KNOWN: Final[Mapping[str, Mapping[int, str]]] = {
    _USERS: {0: "root", 65534: "nobody"}, _GROUPS: {0: "root", 65534: "nogroup"},
}  # fmt: skip
"""The users and groups of images whose files are not known."""
_MOST: Final = 1 << 16
"""Bytes of such a file that are looked at: each line of ``ls -l`` asks for names."""


def _names(machine: Machine, path: str) -> Mapping[int, str]:
    """The names in one of the files about accounts, by number."""
    files = machine.files.base
    if not files.is_file(path):
        return _KNOWN[path]
    return _parsed(files.read(path)[:_MOST])


@lru_cache(maxsize=8)
def _parsed(data: bytes) -> Mapping[int, str]:
    rows = (row.split(":") for row in data.decode("utf-8", "replace").splitlines())
    return {int(row[2]): row[0] for row in rows if len(row) > 2 and row[2].isdecimal() and len(row[2]) < 11}


def user_name(machine: Machine, uid: int) -> str:
    """The name of a user, else the number."""
    return _names(machine, _USERS).get(uid, str(uid))


def group_name(machine: Machine, gid: int) -> str:
    """The name of a group, else the number."""
    return _names(machine, _GROUPS).get(gid, str(gid))


def user_number(machine: Machine, text: str) -> int | None:
    """The number of a user that is told by name or number; None for one that is not known."""
    return _number(_names(machine, _USERS), text)


def group_number(machine: Machine, text: str) -> int | None:
    """The number of a group that is told by name or number; None for one that is not known."""
    return _number(_names(machine, _GROUPS), text)


def _number(names: Mapping[int, str], text: str) -> int | None:
    if text.isdecimal() and len(text) < 11:
        return int(text)
    return next((number for number, name in names.items() if name == text), None)


def _whoami(machine: Machine, words: list[str]) -> Run:
    uid = machine.files.user.uid
    name = user_name(machine, uid)
    if name == str(uid):
        yield error("whoami", f"unknown uid {uid}")
        return 1
    yield line(name)
    return 0


def _id(machine: Machine, words: list[str]) -> Run:
    """``id [-ugGn]``: the user with its groups."""
    user = machine.files.user
    asked = "".join(word[1:] for word in words[1:] if word.startswith("-"))
    every = list(dict.fromkeys((user.gid, *user.groups)))
    if "u" in asked:
        yield line(user_name(machine, user.uid) if "n" in asked else str(user.uid))
    elif "g" in asked:
        yield line(group_name(machine, user.gid) if "n" in asked else str(user.gid))
    elif "G" in asked:
        yield line(" ".join(group_name(machine, each) if "n" in asked else str(each) for each in every))
    else:
        groups = ",".join(_shown(each, group_name(machine, each)) for each in every)
        shown = f"uid={_shown(user.uid, user_name(machine, user.uid))}"
        yield line(f"{shown} gid={_shown(user.gid, group_name(machine, user.gid))} groups={groups}")
    return 0


def _shown(number: int, name: str) -> str:
    return str(number) if name == str(number) else f"{number}({name})"


def _groups(machine: Machine, words: list[str]) -> Run:
    user = machine.files.user
    yield line(" ".join(group_name(machine, each) for each in dict.fromkeys((user.gid, *user.groups))))
    return 0


ACCOUNT_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "whoami": _whoami,
    "id": _id,
    "groups": _groups,
}
"""The commands of this module, by name."""
