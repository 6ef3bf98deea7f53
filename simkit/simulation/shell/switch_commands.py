"""Commands that run others as another user, and those that add users: ``su``, ``runuser``, ``adduser``.

References
----------
su(1), runuser(1) and setpriv(1) of util-linux 2.38; adduser and addgroup of busybox 1.36; useradd(8) of shadow 4.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from simkit.simulation.shell.accounts import GROUPS, USERS, account_rows, group_number, user_number
from simkit.simulation.shell.effects import error
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.interpreter import run_words
from simkit.simulation.shell.machine import Machine, Run
from simkit.simulation.shell.option_words import Given, Syntax, UnknownOption
from simkit.simulation.shell.user_files import User

_SU: Final = Syntax(
    valued="csugG",
    names={
        "command": "c", "shell": "s", "login": "l", "user": "u", "group": "g", "supp-group": "G",
        "preserve-environment": "p", "session-command": "c", "fast": "f",
    },
)  # fmt: skip
_SETPRIV: Final = Syntax(
    valued="ugGxy",
    names={"reuid": "u", "regid": "g", "groups": "G", "clear-groups": "0", "init-groups": "i", "keep-groups": "k",
           "inh-caps": "x", "bounding-set": "y", "no-new-privs": "n", "reset-env": "r"},
)  # fmt: skip
_ADD: Final = Syntax(
    valued="ugGhscdkK",
    names={
        "uid": "u", "gid": "g", "groups": "G", "home": "h", "home-dir": "h", "shell": "s", "gecos": "c", "comment": "c",
        "system": "S", "create-home": "m", "no-create-home": "H", "disabled-password": "D", "ingroup": "G",
        "no-user-group": "N", "user-group": "U",
    },
)  # fmt: skip
_FIRST: Final = (1000, 100)
"""The first number of an ordinary account, and of one of the system."""
_TAKEN: Final = 9


class _Account(NamedTuple):
    """A user with its home and its shell."""

    name: str
    user: User
    home: str
    shell: str


def _account(machine: Machine, name: str) -> _Account | None:
    """A user by its name or number; None for one that is not known."""
    row = next((row for row in account_rows(machine, USERS) if name in (row[0], row[2])), None)
    if row is not None:
        uid, gid = int(row[2]), int(row[3])
        groups = tuple(int(each[2]) for each in account_rows(machine, GROUPS) if row[0] in each[3].split(","))
        return _Account(row[0], User(uid, gid, groups), row[5] or "/", row[6] or "/bin/sh")
    return None


def _as_user(machine: Machine, account: _Account, command: Sequence[str], *, login: bool, keeps: bool = False) -> Run:
    """Run a command as a user, with its home and name in the variables."""
    child = machine.child()
    child.files = machine.files.copy()
    child.files.user = account.user
    told = {"HOME": account.home, "SHELL": account.shell}
    if account.user.uid or login:
        told |= {"USER": account.name, "LOGNAME": account.name}
    if login:
        path = child.environment.get("PATH", "")
        child.environment = {"PATH": path} if path else {}
        child.folder = account.home if child.files.is_folder(account.home) else child.folder
    for name, value in () if keeps else told.items():
        child.assign(name, value)
        child.local.discard(name)
    return (yield from run_words(child, list(command), functions=False))


def _su(machine: Machine, words: list[str]) -> Run:
    """``su [-] [USER] [-c COMMAND]``, and ``runuser [-] USER [-c COMMAND]`` or ``runuser -u USER [--] COMMAND``."""
    login = "-" in words[1:]
    try:
        given = _SU.read([word for word in words[1:] if word != "-"])
    except UnknownOption as problem:
        yield error(words[0], str(problem))
        return 1
    runs = words[0] == "runuser" and "u" in given
    name = given.last("u") if runs else (given.rest.pop(0) if given.rest else "root")
    if machine.files.user.uid:
        told = "may not be used by non-root users" if words[0] == "runuser" else "Authentication failure"
        yield error(words[0], told)
        return 1
    account = _account(machine, name)
    if account is None:
        yield error(words[0], f"user {name} does not exist or the user entry does not contain all the required fields")
        return 1
    if "g" in given:
        account = account._replace(user=account.user._replace(gid=group_number(machine, given.last("g")) or 0))
    shell = given.last("s") or account.shell
    login, keeps = login or "l" in given, given.any("pm")
    if runs:
        command = given.rest
    elif shell.endswith(("nologin", "/false")):
        yield error(words[0], "This account is currently not available.")
        return 1
    else:
        command = [shell, *(("-c", given.last("c")) if "c" in given else ()), *given.rest]
    return (yield from _as_user(machine, account, command, login=login and not runs, keeps=keeps or runs))


def _setpriv(machine: Machine, words: list[str]) -> Run:
    """``setpriv --reuid USER --regid GROUP [--clear-groups] COMMAND``."""
    first = next((at for at, word in enumerate(words[1:], 1) if _begins_command(words, at)), len(words))
    try:
        given = _SETPRIV.read(words[1:first])
    except UnknownOption as problem:
        yield error("setpriv", str(problem))
        return 1
    before = machine.files.user
    uid = user_number(machine, given.last("u")) if "u" in given else before.uid
    gid = group_number(machine, given.last("g")) if "g" in given else before.gid
    if uid is None or gid is None:
        yield error("setpriv", "failed to parse reuid or regid")
        return 1
    if before.uid and (uid, gid) != (before.uid, before.gid):
        yield error("setpriv", "setresuid failed: Operation not permitted")
        return 127
    told = [group_number(machine, each) or 0 for each in given.last("G").split(",")] if "G" in given else before.groups
    user = User(uid, gid, () if "0" in given else tuple(told))
    account = _Account(str(uid), user, "/", "/bin/sh")
    return (yield from _as_user(machine, account, words[first:], login=False, keeps=True))


def _begins_command(words: Sequence[str], at: int) -> bool:
    before = words[at - 1]
    takes = before.startswith("--") and "=" not in before and _SETPRIV.names.get(before[2:], "0") in _SETPRIV.valued
    return not words[at].startswith("-") and not (at > 1 and takes)


def _appended(machine: Machine, path: str, row: str, rows: Sequence[Sequence[str]]) -> None:
    """Add a row to a file of accounts, which is written whole where there was none. Raises FileError."""
    if not machine.files.is_file(path):
        machine.files.write(path, "".join(":".join(each) + "\n" for each in rows).encode())
    machine.files.write(path, f"{row}\n".encode(), append=True)


def _free(rows: Sequence[Sequence[str]], given: Given) -> int:
    taken = {row[2] for row in rows}
    return next(number for number in range(_FIRST[given.any("Sr")], 1 << 16) if str(number) not in taken)


def _add_group(machine: Machine, words: list[str]) -> Run:
    """``addgroup [-g NUMBER] [-S] NAME``, ``addgroup USER GROUP`` and ``groupadd``."""
    given = _ADD.read(words[1:])
    rows = account_rows(machine, GROUPS)
    name = given.rest[0] if given.rest else ""
    if len(given.rest) == 2:
        return (yield from _joined(machine, name, given.rest[1]))
    if not name or any(row[0] == name for row in rows):
        yield error(words[0], f"group '{name}' in use" if name else "a name is missing")
        return _TAKEN if words[0] == "groupadd" else 1
    number = given.last("g") or str(_free(rows, given))
    try:
        _appended(machine, GROUPS, f"{name}:x:{number}:", rows)
    except FileError as problem:
        yield error(words[0], f"{GROUPS}: {problem}")
        return 1
    return 0


def _joined(machine: Machine, user: str, group: str) -> Run:
    """Put a user into a group."""
    rows = [list(row) for row in account_rows(machine, GROUPS)]
    chosen = next((row for row in rows if row[0] == group), None)
    if chosen is None or _account(machine, user) is None:
        yield error("addgroup", f"unknown {'group' if chosen is None else 'user'} {group if chosen is None else user}")
        return 1
    chosen[3] = ",".join(dict.fromkeys([*filter(None, chosen[3].split(",")), user]))
    try:
        machine.files.write(GROUPS, "".join(":".join(row) + "\n" for row in rows).encode())
    except FileError as problem:
        yield error("addgroup", f"{GROUPS}: {problem}")
        return 1
    return 0


def _add_user(machine: Machine, words: list[str]) -> Run:
    """``adduser [-D] [-u NUMBER] [-G GROUP] NAME``, ``adduser USER GROUP`` and ``useradd [-m] [-u NUMBER] NAME``."""
    given = _ADD.read(words[1:])
    if words[0] == "adduser" and len(given.rest) == 2:
        return (yield from _joined(machine, *given.rest))
    rows, groups = account_rows(machine, USERS), account_rows(machine, GROUPS)
    name = given.rest[0] if given.rest else ""
    if not name or any(row[0] == name for row in rows):
        yield error(words[0], f"user '{name}' in use" if name else "a name is missing")
        return _TAKEN if words[0] == "useradd" else 1
    uid = given.last("u") or str(_free(rows, given))
    wanted = given.last("G") if words[0] == "adduser" else given.last("g")
    known = group_number(machine, wanted) if wanted else None
    if wanted and known is None:
        yield error(words[0], f"group '{wanted}' does not exist")
        return 6
    gid = str(known) if known is not None else uid
    home = (given.last("h") if words[0] == "adduser" else given.last("d")) or f"/home/{name}"
    shell = given.last("s") or ("/bin/sh" if words[0] == "useradd" else "/bin/ash")
    try:
        if known is None:
            _appended(machine, GROUPS, f"{name}:x:{gid}:", groups)
        _appended(machine, USERS, f"{name}:x:{uid}:{gid}:{given.last('c') or name}:{home}:{shell}", rows)
        if ("m" in given or words[0] == "adduser") and "H" not in given and "M" not in given:
            machine.files.make_folder(home)
            machine.files.set_owner(home, int(uid), int(gid))
    except FileError as problem:
        yield error(words[0], str(problem))
        return 1
    return 0


def _remove(machine: Machine, words: list[str]) -> Run:
    """``deluser NAME``, ``delgroup NAME`` and their like."""
    path = USERS if "user" in words[0] else GROUPS
    name = next((word for word in words[1:] if not word.startswith("-")), "")
    rows = account_rows(machine, path)
    if not any(row[0] == name for row in rows):
        yield error(words[0], f"unknown {'user' if path == USERS else 'group'} {name}")
        return 1
    try:
        machine.files.write(path, "".join(":".join(row) + "\n" for row in rows if row[0] != name).encode())
    except FileError as problem:
        yield error(words[0], f"{path}: {problem}")
        return 1
    return 0


SWITCH_COMMANDS: Final[Mapping[str, Callable[[Machine, list[str]], Run]]] = {
    "su": _su,
    "runuser": _su,
    "setpriv": _setpriv,
    "adduser": _add_user,
    "useradd": _add_user,
    "addgroup": _add_group,
    "groupadd": _add_group,
    **dict.fromkeys(("deluser", "userdel", "delgroup", "groupdel"), _remove),
}
"""The commands of this module, by name."""
