"""Processes beside a server that compute for it what needs nothing but its argument.

What computes in a thread holds the interpreter that the event loop needs too. What computes in another process does
not, gets less of the machine, and ends when nobody waits any more. Only a thread that works on a request asks for it
(see ``deadline``), and only while a server runs in this process: everywhere else the function is called here.
"""

from __future__ import annotations

import json
import marshal
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.deadline import Deadline, current_deadline, too_late
from simkit.meta.turns import TURNS

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MOST: Final = 2
"""Processes at once, each started when it is needed first."""
_LOOK: Final = 0.02
"""Seconds between two looks at the deadline."""
_MAIN: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from simkit.meta.side_process import serve; serve(int(sys.argv[1]))"
)
_NICE: Final = 5
MEMORY: Final = 4 * 1024**3
"""Bytes of addresses that a process may use."""
_GROWN: Final = 256 * 1024
"""Kibibytes by which a process may grow before it ends after its answer, and a new one takes its place."""


class SideProcessError(RuntimeError):
    """A process beside this one ended, or met an error of ours."""


class _Process:
    """One process, and the connection to it."""

    def __init__(self) -> None:
        import subprocess
        from multiprocessing.connection import Pipe

        self._connection, other = Pipe()
        command = [sys.executable, "-I", "-c", _MAIN, str(other.fileno()), json.dumps(sys.path)]
        self._popen = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[other.fileno()], close_fds=True
        )
        other.close()

    def call(self, function: Callable[..., Any], arguments: Sequence[Any], deadline: Deadline) -> tuple[Any, bool]:
        """The result of a function, and whether the process can be asked again."""
        self._connection.send_bytes(marshal.dumps((function.__module__, function.__name__, tuple(arguments))))
        while not self._connection.poll(_LOOK):
            if deadline.passed:
                raise too_late()
        fault, result, again = marshal.loads(self._connection.recv_bytes())  # noqa: S302 - our own process wrote it
        if fault:
            raise SideProcessError(fault)
        return result, again

    def end(self) -> None:
        """End the process, whatever it does."""
        self._connection.close()
        self._popen.kill()
        self._popen.wait()


class SideProcesses:
    """While entered, by however many servers, threads with a deadline have functions computed elsewhere."""

    def __init__(self, most: int = MOST) -> None:
        self._lock, self._entered = threading.Lock(), 0
        self._room = threading.Semaphore(most)
        self._idle: list[_Process] = []

    def __enter__(self) -> None:
        with self._lock:
            self._entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._entered -= 1
            idle, self._idle = ([], self._idle) if self._entered else (self._idle, [])
        for process in idle:
            process.end()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function that is found by its name in its module.

        Arguments and result are texts, bytes, numbers, lists, tuples and dicts. Raises the 504 of a request for which
        nobody waits any more, and SideProcessError.
        """
        deadline = current_deadline()
        if deadline is None or not self._entered or os.name != "posix" or not sys.executable:
            return function(*arguments)
        with TURNS.left():
            while not self._room.acquire(timeout=_LOOK):
                if deadline.passed:
                    raise too_late()
            try:
                return self._called(function, arguments, deadline)
            finally:
                self._room.release()

    def _called(self, function: Callable[..., Any], arguments: Sequence[Any], deadline: Deadline) -> Any:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or _Process()
        again = False
        try:
            result, again = process.call(function, arguments, deadline)
        except (EOFError, OSError) as error:
            raise SideProcessError(f"the process that computes {function.__name__} ended") from error
        finally:
            with self._lock:
                again = again and bool(self._entered)
                if again:
                    self._idle.append(process)
            if not again:
                process.end()
        return result


SIDE_PROCESSES: Final = SideProcesses()
"""Those of this process."""


def serve(descriptor: int) -> None:
    """The other side: compute what is asked for until nobody is connected any more."""
    import resource
    import signal
    from multiprocessing.connection import Connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    connection: Connection[Any, Any] = Connection(descriptor)
    began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # on Linux that of the process that started this one
    while True:
        try:
            asked = connection.recv_bytes()
        except EOFError:
            return
        found = _computed(asked)
        again = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - began < _GROWN
        connection.send_bytes(marshal.dumps((*found, again)))


def _computed(asked: bytes) -> tuple[str, Any]:
    from importlib import import_module

    module, name, arguments = marshal.loads(asked)  # noqa: S302 - the server wrote it
    try:
        return "", getattr(import_module(module), name)(*arguments)
    except MemoryError:
        return f"{name} needs too much memory", None
