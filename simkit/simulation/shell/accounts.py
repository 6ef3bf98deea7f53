"""Users and groups by name: ``id``, ``whoami`` and ``groups``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from simkit.simulation.shell.effects import error, line
from simkit.simulation.shell.machine import Machine, Run

USERS: Final = "/etc/passwd"
GROUPS: Final = "/etc/group"
_KNOWN: Final[Mapping[str, Mapping[int, str]]] = {
    USERS: {0: "root", 65534: "nobody"}, GROUPS: {0: "root", 65534: "nogroup"},
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


def account_rows(machine: Machine, path: str) -> list[list[str]]:
    """The rows of one of the files about accounts, each with all its parts."""
    files, size = machine.files.base, 7 if path == USERS else 4
    if files.is_file(path):
        rows = files.read(path)[:_MOST].decode("utf-8", "replace").splitlines()
        parts = [row.split(":") for row in rows if row.count(":") >= 2]
        return [
            [*each, *[""] * (size - len(each))][:size] for each in parts if each[2].isdecimal() and len(each[2]) < 11
        ]
    homes = {"root": "/root"}
    if path == GROUPS:
        return [[name, "x", str(number), ""] for number, name in _KNOWN[path].items()]
    shells = {"root": "/bin/sh"}
    return [
        [name, "x", str(number), str(number), name, homes.get(name, "/"), shells.get(name, "/sbin/nologin")]
        for number, name in _KNOWN[path].items()
    ]


def user_name(machine: Machine, uid: int) -> str:
    """The name of a user, else the number."""
    return _names(machine, USERS).get(uid, str(uid))


def group_name(machine: Machine, gid: int) -> str:
    """The name of a group, else the number."""
    return _names(machine, GROUPS).get(gid, str(gid))


def user_number(machine: Machine, text: str) -> int | None:
    """The number of a user that is told by name or number; None for one that is not known."""
    return _number(_names(machine, USERS), text)


def group_number(machine: Machine, text: str) -> int | None:
    """The number of a group that is told by name or number; None for one that is not known."""
    return _number(_names(machine, GROUPS), text)


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
    """``id [-ugGn] [USER]``: a user with its groups."""
    asked = "".join(word[1:] for word in words[1:] if word.startswith("-"))
    named = next((word for word in words[1:] if not word.startswith("-")), "")
    uid, gid, others = _numbers(machine, named)
    if uid < 0:
        yield error("id", f"unknown user {named}")
        return 1
    every = list(dict.fromkeys((gid, *others)))
    if "u" in asked:
        yield line(user_name(machine, uid) if "n" in asked else str(uid))
    elif "g" in asked:
        yield line(group_name(machine, gid) if "n" in asked else str(gid))
    elif "G" in asked:
        yield line(" ".join(group_name(machine, each) if "n" in asked else str(each) for each in every))
    else:
        groups = ",".join(_shown(each, group_name(machine, each)) for each in every)
        shown = f"uid={_shown(uid, user_name(machine, uid))}"
        yield line(f"{shown} gid={_shown(gid, group_name(machine, gid))} groups={groups}")
    return 0


def _numbers(machine: Machine, name: str) -> tuple[int, int, Sequence[int]]:
    """The numbers of a user, of its group and of further ones; those of the present user where none is named.

    A user that is not known has the number -1.
    """
    if not name:
        user = machine.files.user
        return user.uid, user.gid, user.groups
    row = next((row for row in account_rows(machine, USERS) if name in (row[0], row[2])), None)
    if row is None:
        return -1, -1, ()
    groups = [int(each[2]) for each in account_rows(machine, GROUPS) if row[0] in each[3].split(",")]
    return int(row[2]), int(row[3]), groups


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
