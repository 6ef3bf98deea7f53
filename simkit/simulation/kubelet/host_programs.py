"""Programs of this machine in containers, for tests whose images cannot run here. Off unless somebody asks for it.

A program runs in a sandbox of bubblewrap: it sees the files of its container, and of the machine only what programs
need (``/usr``, the folder that it is installed in, certificates), which it cannot change. It uses the network of the
machine.

References
----------
bwrap(1) of bubblewrap 0.8; pid_namespaces(7) of Linux.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simkit.meta.errors import SimkitError
from simkit.simulation.kubelet.host_files import KERNEL_FOLDERS, SYSTEM_FOLDERS, HostFiles
from simkit.simulation.kubelet.sandboxed_process import SandboxedProcess, sandbox
from simkit.simulation.shell.files import Files
from simkit.simulation.shell.interruption import Interrupted
from simkit.simulation.shell.machine import Effect, Machine, Pause, Read, Run, Write
from simkit.simulation.shell.signals import BY_SIGNAL, NUMBERS

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
_SERVER: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS")


def found_programs(told: Iterable[str]) -> dict[str, Path]:
    """The places of programs that are told as ``NAME`` or ``NAME=PATH``, by name.

    Raises
    ------
    SimkitError
        For a program that is not there, and where bubblewrap is missing.
    """
    sandbox()
    found = {}
    for each in told:
        name, _, place = each.partition("=")
        path = shutil.which(place or name)
        if not name or "/" in name or path is None:
            raise SimkitError(f"no program {each!r} on this machine; say NAME or NAME=PATH, such as python3")
        found[name] = Path(path).absolute()
    return found


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
        """The programs as commands of the built-in shell."""
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
        folders = self._program_folders()
        made = HostFiles(base, [*lent, *(_first_missing(base, each) for each in folders)])
        for each in (*SYSTEM_FOLDERS, *KERNEL_FOLDERS, *lent, *folders):
            _make_place(Path(each), made.place(each))
        return made

    def _program_folders(self) -> list[str]:
        """The folders outside of the system's own that the programs are installed in."""
        found = []
        for path in self.paths.values():
            link = path
            while True:
                found.append(str(link.parent.parent if link.parent.name == "bin" else link.parent))
                if not link.is_symlink():
                    break
                link = link.parent / link.readlink()
        private = {"/", "/root", str(Path.home())}
        wrong = next((each for each in found if each in private), None)
        if wrong is not None:
            raise SimkitError(f"a program of {wrong}/bin would show all of {wrong}; install it in a folder of its own")
        return sorted({each for each in found if not each.startswith(SYSTEM_FOLDERS)})

    def _sandbox(self, machine: Machine, files: HostFiles) -> list[str]:
        """The sandbox and the environment of a program, in words for bubblewrap."""
        found = [*_ALWAYS, "--uid", str(machine.files.user.uid), "--gid", str(machine.files.user.gid)]
        found += ["--hostname", machine.hostname]
        for path, protected in files.protected():
            found += ["--ro-bind" if protected else "--bind", str(files.place(path)), path]
        for each in (*SYSTEM_FOLDERS, *self._program_folders(), *_LENT):
            if files.is_left_out(each) and Path(each).exists() and not files.place(each).is_symlink():
                found += ["--ro-bind", each, each]
        found += ["--dev", "/dev", "--proc", "/proc", "--chdir", machine.folder, "--clearenv"]
        for name, value in self._variables(machine).items():
            found += ["--setenv", name, value]
        return found

    def _variables(self, machine: Machine) -> dict[str, str]:
        found = {name: value for name, value in machine.environment.items() if name not in machine.local}
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
            yield Write(data, stream)
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
        elif not machine.shared.protected:
            return BY_SIGNAL + NUMBERS[name]
    return 0


def _input(machine: Machine, process: SandboxedProcess, pause: float) -> Generator[Effect, bytes, None]:
    """Give the program what comes in during a pause."""
    if not process.takes_input:
        yield Pause(pause)
        return
    end = machine.now + pause
    data = yield Read(everything=True, within=pause)
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
