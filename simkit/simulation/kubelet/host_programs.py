"""Programs of this machine in containers, for tests whose images cannot run here. Off unless somebody allows them."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from simkit.meta.errors import SimkitError
from simkit.simulation.kubelet.sandboxed_process import SandboxedProcess, sandbox
from simkit.simulation.shell.files import MOST_BYTES, FileError, Files
from simkit.simulation.shell.kernel import STDERR, Effect, Run, Until
from simkit.simulation.shell.machine import Machine
from simkit.simulation.shell.paths import Mark
from simkit.simulation.shell.signals import BY_SIGNAL, NUMBERS, Interrupted

# The files of a container in a folder of this machine, for a program of this machine that runs in it

SYSTEM_FOLDERS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders that programs of the machine need as they are there."""
KERNEL_FOLDERS: Final = ("/dev", "/proc", "/sys")
_NEVER_WAITS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class _State(NamedTuple):
    """A file as it was when it was last the same on both sides."""

    changed: int
    """The time of its last change in the folder, in nanoseconds."""
    size: int


class HostFiles:
    """The files of a container as they are now, in a temporary folder; ``pull`` takes what was written there.

    Folders of the machine's own programs are left out. Owners are not kept, and neither are devices and sockets. A file
    that is larger than all those of a container together may be is not taken.

    Parameters
    ----------
    files
        Those of the container.
    left_out
        Further paths that are not the container's.

    Notes
    -----
    The program may put a link to anything of the machine into the folder at any time. So nothing is written into the
    folder once the program runs, and no link is followed when it is read.

    Examples
    --------
    >>> files = Files({"/app/in": "1"})
    >>> host = HostFiles(files)
    >>> (host.root / "app/in").read_text()
    '1'
    >>> written = (host.root / "app/out").write_text("2")
    >>> host.pull()
    >>> host.close()
    >>> files.read("/app/out")
    b'2'
    """

    def __init__(self, files: Files, left_out: Sequence[str] = ()) -> None:
        self._files, self._left_out = files, (*SYSTEM_FOLDERS, *KERNEL_FOLDERS, *left_out)
        self._folder = TemporaryDirectory(prefix="simkit-container-", ignore_cleanup_errors=True)
        self.root = Path(self._folder.name)
        self._known: dict[str, _State | None] = {}
        """The paths that are on both sides; None for folders and links."""
        for path in files.tree("/"):
            if path != "/" and not self.is_left_out(path):
                with suppress(FileError, OSError):  # what cannot be had is not there for programs either
                    self._known[path] = self._copied(path)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def is_left_out(self, path: str) -> bool:
        """True if a path is none of the container's."""
        return any(path == each or path.startswith(f"{each}/") for each in self._left_out)

    def place(self, path: str) -> Path:
        """The place of a path of the container in the folder."""
        return self.root / path.lstrip("/")

    def protected(self) -> Iterator[tuple[str, bool]]:
        """The root and the folders in which other rules hold than above them: whether nothing can be written there."""
        above: dict[str, bool] = {}
        for path in ("/", *(each for each in self._known if self._files.is_folder(each))):
            if self._files.target(path) is None:
                above[path] = self._files.is_read_only(path)
                if path == "/" or above[path] != above.get(path.rpartition("/")[0] or "/"):
                    yield path, above[path]

    def _copied(self, path: str) -> _State | None:
        """Make what is at a path in the folder. Raises FileError, or OSError."""
        place, target = self.place(path), self._files.target(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if target is not None:
            place.symlink_to(target)
            return None
        mode = self._files.mark(path).mode
        if self._files.is_folder(path):
            place.mkdir(exist_ok=True)
            place.chmod(mode | stat.S_IRWXU)
            return None
        place.write_bytes(self._files.read(path))
        place.chmod(mode | stat.S_IRUSR)
        found = place.stat()
        return _State(found.st_mtime_ns, found.st_size)

    def pull(self) -> None:
        """Take what was written or removed in the folder since the last time."""
        seen = set[str]()
        for folder, folders, names, opened in os.fwalk(self.root):
            relative = str(Path(folder).relative_to(self.root))
            above = "" if relative == "." else f"/{relative}"
            folders[:] = [each for each in folders if not self.is_left_out(f"{above}/{each}")]
            for name in (*folders, *names):
                path = f"{above}/{name}"
                if not self.is_left_out(path):
                    seen.add(path)
                    with suppress(FileError, OSError):  # it is gone again, or cannot be written in the container
                        self._pull_one(path, name, opened)
        for path in sorted(self._known.keys() - seen, reverse=True):
            del self._known[path]
            with suppress(FileError):
                self._files.remove(path)

    def _pull_one(self, path: str, name: str, folder: int) -> None:
        """Take what is in a folder that is open. Raises FileError, or OSError."""
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        before = self._known.get(path)
        if stat.S_ISREG(found.st_mode):
            state = _State(found.st_mtime_ns, found.st_size)
            if state != before and found.st_size <= MOST_BYTES:
                self._known[path] = state
                self._files.write(path, _content(name, folder))
                own = self._files.mark(path)
                mode = stat.S_IMODE(found.st_mode)
                self._files.set_mark(path, Mark(mode, own.uid, own.gid, found.st_mtime))
        elif path not in self._known and stat.S_ISDIR(found.st_mode):
            self._known[path] = None
            self._files.make_folder(path)
        elif path not in self._known and stat.S_ISLNK(found.st_mode):
            self._known[path] = None
            self._files.link(os.readlink(name, dir_fd=folder), path)


def _content(name: str, folder: int) -> bytes:
    """The content of a file in a folder that is open. Raises OSError for a link, or what is none any more."""
    opened = os.open(name, _NEVER_WAITS, dir_fd=folder)
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError
        return file.read(MOST_BYTES)


# Programs of this machine in containers, for tests whose images cannot run here. Off unless somebody asks for it.
# A program runs in a sandbox of bubblewrap: it sees the files of its container, and of the machine only what programs
# need (``/usr``, the folder that it is installed in, certificates), which it cannot change. It uses the network of the
# machine.
# References: bwrap(1) of bubblewrap 0.8; pid_namespaces(7) of Linux.

_LENT: Final = (
    "/etc/alternatives", "/etc/ca-certificates", "/etc/hosts", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/ssl",
)  # fmt: skip
"""Files of the machine that programs need, where the container has none of its own."""
_ALWAYS: Final = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--die-with-parent",
    "--new-session", "--cap-drop", "ALL",
)  # fmt: skip
_PASSED_ON: Final = ("TERM", "HUP", "INT", "QUIT", "USR1", "USR2")
"""Signals for a container that go to its program."""
_SHORTEST: Final = 0.01
"""Seconds between two looks at a program that prints."""
_LONGEST: Final = 0.2
"""The same for one that has been silent for a while."""
_SLOWER: Final = 1.5
"""The factor by which they grow."""
_IN_SYSTEM: Final = tuple(f"{each}/" for each in SYSTEM_FOLDERS)
_SERVER: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS")


def found_programs(told: Iterable[str]) -> dict[str, Path]:
    """The places of programs given as ``NAME``, ``NAME=PATH``, or several of them with commas between, by name.

    Raises
    ------
    SimkitError
        For a program that is not there, and where bubblewrap is missing.
    """
    sandbox()
    found = {}
    for each in (part for text in told for part in text.split(",")):
        name, _, place = each.partition("=")
        path = shutil.which(place or name)
        if not name or "/" in name or path is None:
            raise SimkitError(f"no program {each!r} on this machine; say NAME or NAME=PATH, such as python3")
        found[name] = Path(path).absolute()
    program_folders(found.values())
    return found


def program_folders(paths: Iterable[Path]) -> list[str]:
    """The folders outside of the system's own that programs are installed in.

    Raises
    ------
    SimkitError
        For a folder that holds more than programs, such as the home of the user.
    """
    found = []
    for path in paths:
        link = path
        while not str(link).startswith(_IN_SYSTEM):
            found.append(str(link.parent.parent if link.parent.name == "bin" else link.parent))
            if not link.is_symlink():
                break
            link = link.parent / link.readlink()
    private = {"/", "/root", os.path.expanduser("~")}
    wrong = next((each for each in found if each in private), None)
    if wrong is not None:
        raise SimkitError(f"a program of {wrong}/bin would show all of {wrong}; install it in a folder of its own")
    return sorted(set(found))


@dataclass(frozen=True)
class HostPrograms:
    """The programs of this machine that containers may run.

    Parameters
    ----------
    paths
        Their places on this machine, by name.
    server
        The address and the port at which they reach the API server; None where it is not served.
    """

    paths: Mapping[str, Path]
    server: tuple[str, int] | None = None

    def commands(self) -> Mapping[str, Callable[[Machine, list[str]], Run]]:
        """The programs as commands of the small shell."""
        return dict.fromkeys(self.paths, self._run)

    def _run(self, machine: Machine, words: list[str]) -> Run:
        """Run a program until it ends, or is no longer wanted."""
        files = self._files(machine.files.base)
        own = [each for each in _PASSED_ON if each not in machine.signals.traps]
        traps, machine.signals.traps = machine.signals.traps, dict.fromkeys(own, ":") | machine.signals.traps
        process = None
        try:
            path = str(self.paths[words[0].rpartition("/")[2]])
            process = SandboxedProcess(self._sandbox(machine, files), [path, *words[1:]])
            return (yield from _followed(machine, process, files, own))
        finally:
            machine.signals.traps = traps
            if process is not None:
                process.close()
                files.pull()
            files.close()

    def _files(self, base: Files) -> HostFiles:
        """A folder with the files of a container, and places for what it is lent."""
        lent = [each for each in _LENT if Path(each).exists() and not base.exists(each)]
        folders = program_folders(self.paths.values())
        made = HostFiles(base, [*lent, *(_first_missing(base, each) for each in folders)])
        for each in (*SYSTEM_FOLDERS, *KERNEL_FOLDERS, *lent, *folders):
            _make_place(Path(each), made.place(each))
        return made

    def _sandbox(self, machine: Machine, files: HostFiles) -> list[str]:
        """The sandbox and the environment of a program, in words for bubblewrap."""
        found = [*_ALWAYS, "--uid", str(machine.files.user.uid), "--gid", str(machine.files.user.gid)]
        found += ["--hostname", machine.hostname]
        for path, protected in files.protected():
            found += ["--ro-bind" if protected else "--bind", str(files.place(path)), path]
        for each in (*SYSTEM_FOLDERS, *program_folders(self.paths.values()), *_LENT):
            if files.is_left_out(each) and Path(each).exists() and not files.place(each).is_symlink():
                found += ["--ro-bind", each, each]
        found += ["--dev", "/dev", "--proc", "/proc", "--chdir", machine.folder, "--clearenv"]
        for name, value in self._variables(machine).items():
            found += ["--setenv", name, value]
        return found

    def _variables(self, machine: Machine) -> dict[str, str]:
        found = {name: value for name, value in machine.variables.items() if name in machine.exported}
        places = dict.fromkeys(str(path.parent) for path in self.paths.values())
        found["PATH"] = ":".join([*places, found.get("PATH", "/usr/bin:/bin")])
        if self.server is not None and _SERVER[0] in found:
            host, port = self.server
            found |= dict(zip(_SERVER, (host, str(port), str(port)), strict=True))
        return found


def _followed(machine: Machine, process: SandboxedProcess, files: HostFiles, passed_on: Sequence[str]) -> Run:
    """Let a program run to its end: it gets the input and the signals of the command, which has its output.

    Where the time of the command is ahead, as that of a probe that is tried at once, the program gets real time first.
    """
    pause, begun, since = _SHORTEST, time.monotonic(), machine.now
    while True:
        code, moved = process.code, False
        for stream, data in process.output():
            moved = True
            yield from machine.write(data, 2 if stream == STDERR else 1)
        ended_by = _passed_on(machine, process, passed_on)
        if code is not None or ended_by:
            return ended_by if code is None else code
        pause = _SHORTEST if moved else min(_LONGEST, pause * _SLOWER)
        if pause == _LONGEST:
            files.pull()
        try:
            yield from _input(machine, process, pause)
        except Interrupted:
            process.send("INT")
        process.wait(machine.now - since - (time.monotonic() - begun))


def _passed_on(machine: Machine, process: SandboxedProcess, names: Sequence[str]) -> int:
    """Pass signals on that have come; gives back the exit code of a program that ends by one that it does not heed."""
    for name in [each for each in machine.signals.pending if each in names]:
        machine.signals.pending.remove(name)
        if process.heeds(name):
            process.send(name)
        elif not machine.kernel.protected:
            return BY_SIGNAL + NUMBERS[name]
    return 0


def _input(machine: Machine, process: SandboxedProcess, pause: float) -> Generator[Effect, bytes, None]:
    """Give the program what comes in during a pause."""
    if not process.takes_input:
        yield Until(lambda: False, pause)
        return
    end = machine.now + pause
    data = yield from machine.read(everything=True, within=pause)
    if data:
        process.write(data)
    elif machine.now < end - 1e-6:
        process.end_input()


def _first_missing(base: Files, path: str) -> str:
    """The first folder on the way to a path that a container does not have, else the path."""
    parts = path.split("/")
    ways = ("/".join(parts[:end]) for end in range(2, len(parts) + 1))
    return next((each for each in ways if not base.exists(each)), path)


def _make_place(there: Path, place: Path) -> None:
    """Make the place at which something of the machine appears: a link, a folder or an empty file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists() or place.is_symlink():
        return
    if there.is_symlink() and str(there) in SYSTEM_FOLDERS:
        place.symlink_to(there.readlink())
    elif there.is_dir():
        place.mkdir()
    elif there.exists():
        place.touch()
