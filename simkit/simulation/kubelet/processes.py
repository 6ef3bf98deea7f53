"""The processes of all containers, and the programs that are files in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from simkit.client.lister import uid_of
from simkit.meta.clock import moment
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.images import image_name, is_shell_image
from simkit.simulation.kubelet.process import Container, Process, completes, forever
from simkit.simulation.kubelet.volumes import Volumes
from simkit.simulation.shell.commands import PROGRAMS
from simkit.simulation.shell.files import Files
from simkit.simulation.shell.machine import Network, NoNetwork

# Programs as files of containers, where scripts and clients look for a shell or a tool before they use it

_WITHOUT_BASH: Final = frozenset({"busybox", "alpine"})
_CONTENT: Final = b"\x7fELF"


@cache
def _files(*, bash: bool) -> Mapping[str, bytes]:
    names = PROGRAMS - ({"bash"} if not bash else set())
    return MappingProxyType(dict.fromkeys((*(f"/bin/{name}" for name in names), "/usr/bin/env"), _CONTENT))


def programs_of(image: str, others: Collection[str] = ()) -> Mapping[str, bytes]:
    """The programs that an image has, as files.

    They are where the image of busybox has them; ``others`` are in ``/usr/local/bin``.

    Examples
    --------
    >>> found = programs_of("alpine:3.20")
    >>> "/bin/sh" in found, "/bin/bash" in found, "/bin/cd" in found
    (True, False, False)
    """
    found = _files(bash=image_name(image) not in _WITHOUT_BASH)
    return {**found, **dict.fromkeys((f"/usr/local/bin/{name}" for name in others), _CONTENT)} if others else found


# The processes of all containers, made when they are first looked at

_NO_FILES, _NO_NETWORK = Files(), NoNetwork()


def program_of(pod: Object, container: str, command: str = "") -> str:
    """A program as messages name it, or a command of exec, a probe or a hook."""
    what = f"command {command} in" if command else "the program of"
    return f"{what} container {container} of pod {namespace_of(pod)}/{name_of(pod)}"


class Processes:
    """Processes and files by pod and container. The process before the last restart is kept for its log."""

    def __init__(self, behaviours: Behaviours, volumes: Volumes, network: Callable[[Object, Files], Network]) -> None:
        self._behaviours, self.volumes, self._network = behaviours, volumes, network
        self._by_pod: dict[str, dict[tuple[str, int], Process]] = {}
        self._files: dict[tuple[str, str], Files] = {}

    def of(
        self,
        pod: Object,
        container: Mapping[str, Any],
        restarts: int,
        started: float,
        environment: Callable[[], Mapping[str, str]],
    ) -> Process:
        """The process of a container; it starts where there is none yet, and only then has an environment made.

        One that starts again has the files of its image, and those of its volumes.
        Many containers run on and do nothing: they get files once somebody looks at them.
        """
        name, own = str(container.get("name", "")), self._by_pod.setdefault(uid_of(pod), {})
        found = own.get((name, restarts))
        if found is None:
            if restarts:
                self._files.pop((uid_of(pod), name), None)
            programs = self._behaviours.programs(container)
            given = Container(pod, container, restarts, started, {}, _NO_FILES, _NO_NETWORK, programs=programs)
            program = self._behaviours.program(given)
            if program not in (forever, completes):  # these look neither at their files nor at their environment
                given = self.container(pod, container, started, environment(), restarts)
            steps = program(given)
            takes_input, what = bool(container.get("stdin")), program_of(pod, name)
            found = own[name, restarts] = Process(steps, started, takes_input=takes_input, what=what)
            for key in [key for key in own if key[0] == name and key[1] < restarts - 1]:
                del own[key]
        return found

    def container(
        self,
        pod: Object,
        spec: Mapping[str, Any],
        started: float,
        environment: Mapping[str, str],
        restarts: int = 0,
    ) -> Container:
        """The container for a program, with the files and the network that it sees."""
        files = self.files(pod, spec)
        programs = self._behaviours.programs(spec)
        return Container(pod, spec, restarts, started, environment, files, self._network(pod, files), programs=programs)

    def known(self, uid: str, container: str, restarts: int) -> Process | None:
        """The process of a container, None where none was started here."""
        return self._by_pod.get(uid, {}).get((container, restarts))

    def files(self, pod: Object, container: Mapping[str, Any]) -> Files:
        """The files of a container: first those that the test gives it, and its volumes."""
        key = (uid_of(pod), str(container.get("name", "")))
        found = self._files.get(key)
        if found is None:
            image, context = str(container.get("image", "")), container.get("securityContext") or {}
            begun = at(pod, "status", "startTime")
            found = self._files[key] = Files(
                programs=programs_of(image, self._behaviours.programs(container)),
                complete=is_shell_image(image),
                read_only=bool(context.get("readOnlyRootFilesystem")),
                born=moment(begun) if begun else 0.0,
            )
            self.volumes.mount(found, pod, container)
            for path, text in self._behaviours.files(pod, container).items():
                found.place(path, text.encode() if isinstance(text, str) else text)
        return found

    def kill(self, pod: Object, now: float, code: int) -> None:
        """End all processes of a pod."""
        for process in self._by_pod.get(uid_of(pod), {}).values():
            process.kill(now, code)

    def forget(self, pod: Object) -> None:
        """Forget a pod that is gone."""
        uid = uid_of(pod)
        self._by_pod.pop(uid, None)
        self.volumes.forget(pod)
        for key in [key for key in self._files if key[0] == uid]:
            del self._files[key]
