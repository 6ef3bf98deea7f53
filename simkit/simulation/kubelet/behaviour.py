"""The behaviour of pods in a test: programs by image, and settings in annotations of a pod.

| annotation | meaning |
|---|---|
| ``simkit/script`` | what containers run: the commands of the small shell |
| ``simkit/start-after`` | time from the assignment to a node until containers start |
| ``simkit/ready-after`` | time from a container's start until it is ready |
| ``simkit/ready`` | ``false``: not ready, whatever else is said |
| ``simkit/live`` | ``false``: the liveness probe fails |
| ``simkit/pull-error`` | why the image cannot be pulled: a text, or ``not-found``, ``denied``, ``no-such-host`` |
| ``simkit/stop-after`` | time that containers take to stop |
| ``simkit/ends-at-term`` | ``false``: scripts heed signals only by a trap, as process 1 does; ``true``: they end |

An annotation whose name ends with a dot and the name of a container is about that container alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

from simkit.meta.duration import seconds
from simkit.meta.errors import SimkitError
from simkit.meta.foreign import ForeignFault, call, judged_bytes
from simkit.meta.labels import LabelSelector
from simkit.meta.labels import parse as parse_selector
from simkit.meta.objects import Object, annotations_of, labels_of, metadata, name_of, namespace_of
from simkit.seams import PortHandler, has_closed
from simkit.simulation.kubelet.host_programs import HostPrograms
from simkit.simulation.kubelet.images import files_of, is_shell_image
from simkit.simulation.kubelet.process import Container, Program, Step, Steps, completes, forever, steps_of
from simkit.simulation.kubelet.shell import UnknownCommand, script_program
from simkit.simulation.shell.machine import Command as ShellCommand

PREFIX: Final = "simkit/"
ProvidedProgram = Callable[[Container], Steps]
"""A program of a test."""
Command = Callable[[Container, Sequence[str]], Steps]
"""A program for a command of exec: from the container and the words of the command to its steps."""

_SETTINGS: Final = frozenset(
    {"script", "start-after", "ready-after", "ready", "live", "stop-after", "ends-at-term", "pull-error"}
)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of the containers of some pods.

    Attributes
    ----------
    image, namespace
        Patterns (``*`` for any text) of the images and namespaces that are meant.
    selector
        A label selector of the pods that are meant.
    program
        What runs: a function of a ``Container`` (a generator function, or one that gives an exit code at once), or
        commands of the small shell.
    commands
        What exec runs, by the name of the command: generator functions of a ``Container`` and the words.
    files
        Files that are there from the start, by absolute path.
    ports
        What listens on ports: functions from what a client sent to what it is answered, in bytes.
    settings
        The same as the annotations say, such as ``{"start-after": "2s"}``.

    Raises
    ------
    SimkitError
        For a setting that does not exist.
    """

    image: str = "*"
    namespace: str = "*"
    selector: str = ""
    program: ProvidedProgram | str | None = None
    commands: Mapping[str, Command] = field(default_factory=dict)
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    ports: Mapping[int, PortHandler] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(self.settings.keys() - _SETTINGS)
        if unknown:
            raise SimkitError(f"no setting {unknown[0]!r} of containers; there are {', '.join(sorted(_SETTINGS))}")

    def concerns(self, pod: Object, image: str) -> bool:
        """True if a container of this image in this pod is meant."""
        if not fnmatchcase(image, self.image) or not fnmatchcase(namespace_of(pod), self.namespace):
            return False
        chosen: LabelSelector = parse_selector(self.selector)
        return chosen.matches(labels_of(pod))


def provided(program: Callable[..., Steps]) -> Callable[..., Generator[Step, Any, Any]]:
    """A program of a test, which is called when its container runs it."""
    return next((own for own in (completes, forever) if program is own), partial(steps_of, program))


OnFault = Callable[[Object, str], None]
"""Takes the fault of a function that a test provides for a pod."""


def _unheard(pod: Object, fault: str) -> None:
    """Nobody records Events of faults."""


class ProvidedPort:
    """A port handler of a test. Where it fails, the connection is closed, and nothing is answered."""

    def __init__(self, pod: Object, number: int, handler: PortHandler, on_fault: OnFault) -> None:
        self._pod, self._handler, self._on_fault = pod, handler, on_fault
        self._what = f"the handler of port {number} of pod {namespace_of(pod)}/{name_of(pod)}"
        self._failed = False

    @property
    def closed(self) -> bool:
        """True if it has failed, or says that it has closed the connection."""
        return self._failed or has_closed(self._handler)

    def __call__(self, data: bytes) -> bytes:
        """The answer to what a client sends; empty after a fault."""
        try:
            answer: bytes = call(self._what, self._handler, data, judge=judged_bytes)
        except ForeignFault as fault:
            self._failed = True
            self._on_fault(self._pod, str(fault))
            return b""
        return answer


class Behaviours:
    """The behaviours of a cluster's pods; the first that concerns a container counts.

    Parameters
    ----------
    ends_at_term
        Whether scripts without a trap end at a signal where nothing else is said.
    """

    def __init__(self, given: Sequence[Behaviour] = (), *, ends_at_term: bool = True) -> None:
        self.given: list[Behaviour] = list(given)
        self.host: HostPrograms | None = None
        """Programs of this machine that containers may run. Forks run none."""
        self._ends_at_term = ends_at_term
        self.on_fault: OnFault = _unheard
        """Called with the fault of a function that a test provides, and its pod."""

    def fork(self) -> Behaviours:
        """An independent copy."""
        return Behaviours(self.given, ends_at_term=self._ends_at_term)

    def setting(self, pod: Object, container: Mapping[str, Any], name: str) -> str:
        """The setting of a container, empty where nothing is said."""
        return self.told(pod, container, name) or ""

    def told(self, pod: Object, container: Mapping[str, Any], name: str) -> str | None:
        """The setting that the pod's own annotations, then the behaviours, give a container; None: they give none."""
        annotations = annotations_of(pod)
        key = f"{PREFIX}{name}"
        found = annotations.get(f"{key}.{container.get('name', '')}", annotations.get(key))
        if found is not None:
            return found
        image = str(container.get("image", ""))
        return next(
            (each.settings[name] for each in self.given if name in each.settings and each.concerns(pod, image)), None
        )

    def duration(self, pod: Object, container: Mapping[str, Any], name: str) -> float:
        """Seconds that a test says; 0 where it says nothing, or no time."""
        told = self.setting(pod, container, name)
        try:
            return seconds(told) if told else 0.0
        except ValueError:
            return 0.0

    def _concerned(self, pod: Object, container: Mapping[str, Any]) -> list[Behaviour]:
        return [each for each in self.given if each.concerns(pod, str(container.get("image", "")))]

    def files(self, pod: Object, container: Mapping[str, Any]) -> dict[str, str | bytes]:
        """The files that a container starts with."""
        found = files_of(str(container.get("image", "")))
        for each in reversed(self._concerned(pod, container)):
            found |= each.files
        return found

    def command(
        self, pod: Object, container: Mapping[str, Any], name: str
    ) -> Callable[..., Generator[Step, Any, Any]] | None:
        """The program for a command of exec, if the test sets one."""
        told = (each.commands[name] for each in self._concerned(pod, container) if name in each.commands)
        return next((provided(each) for each in told), None)

    def port(self, pod: Object, number: int) -> PortHandler | None:
        """The listener on a port of a pod, if the test sets one."""
        for container in (pod.get("spec") or {}).get("containers") or ():
            for each in self._concerned(pod, container):
                if number in each.ports:
                    return ProvidedPort(pod, number, each.ports[number], self.on_fault)
        return None

    def programs(self, container: Mapping[str, Any]) -> Mapping[str, ShellCommand]:
        """The programs of the machine that a container may run; they come before those of the small shell."""
        return {} if self.host is None else self.host.commands()

    def program(self, container: Container) -> Program:
        """The program of a container.

        In this order: what the test says, the annotation ``script``, its own command where that is one of the built-in
        shell or a program of the machine, which arguments alone may name too. Other programs end well after a second in
        pods of jobs, and run on in all others.
        """
        pod, image = container.pod, str(container.spec.get("image", ""))
        first = self._ignores_signals(pod, container.spec)
        for each in self.given:
            if each.program is not None and each.concerns(pod, image):
                return (
                    script_program(each.program, protected=first)
                    if isinstance(each.program, str)
                    else provided(each.program)
                )
        script = self.setting(pod, container.spec, "script")
        if script:
            return script_program(script, protected=first)
        command = [*(container.spec.get("command") or ()), *(container.spec.get("args") or ())]
        shell = is_shell_image(image)
        if container.spec.get("command") or shell or (command[:1] and command[0] in container.programs):
            try:
                return script_program(command, protected=first, fails=shell, programs=container.programs)
            except UnknownCommand:
                pass
        owners = metadata(pod).get("ownerReferences") or ()
        return completes if any(owner.get("kind") == "Job" for owner in owners) else forever

    def _ignores_signals(self, pod: Object, container: Mapping[str, Any]) -> bool:
        """True if a script is process 1, which the system sends no signal that it has no trap for.

        In pods that share the processes of their containers, or of the node, another program is the first.
        """
        told = self.told(pod, container, "ends-at-term")
        if told is not None:
            return told == "false"
        spec = pod.get("spec") or {}
        return not (self._ends_at_term or spec.get("shareProcessNamespace") or spec.get("hostPID"))
