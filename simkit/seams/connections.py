"""The protocols of connections to pods: processes, ports and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from simkit.meta.objects import Object


class RemoteProcess(Protocol):
    """The other end of an exec or attach. Nothing of it waits; it may be driven from one thread alone."""

    @property
    def exit_code(self) -> int | None:
        """The exit code, once it has ended and all that it wrote was polled."""
        ...

    @property
    def failure(self) -> str:
        """The reason why it could not start; empty if it could."""
        ...

    @property
    def runs_by_itself(self) -> bool:
        """True if it runs whether or not somebody polls, as the first process of a container does."""
        ...

    def feed(self, data: bytes) -> None:
        """Give it input."""
        ...

    def end_input(self) -> None:
        """Tell it that no more input comes."""
        ...

    def poll(self) -> Sequence[tuple[str, bytes]]:
        """The new output: ``stdout`` or ``stderr``, and bytes."""
        ...

    def pause(self) -> float | None:
        """Seconds until ``poll`` may find more although nobody gives it input; None: it tells by ``on_change``."""
        ...

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have a callback called, in any thread, when there may be something to poll."""
        ...


PortHandler = Callable[[bytes], bytes]
"""A listener on a port of a pod: from a client's bytes to its answer."""


def has_closed(handler: PortHandler) -> bool:
    """True if a handler has closed its connection, as one tells that has an attribute ``closed``."""
    return bool(getattr(handler, "closed", False))


class PodConnections(Protocol):
    """The handler of connections to the pods of some nodes, in place of their kubelets."""

    def reaches(self, node: str) -> bool:
        """True if the pods of a node can be connected to."""
        ...

    def log(self, pod: Object, container: str, options: Mapping[str, Any]) -> bytes | Any:
        """The log of a container, or a stream of it. Raises a StatusError where there is none."""
        ...

    def command(
        self, pod: Object, container: str, command: Sequence[str] | None, *, stdin: bool, tty: bool
    ) -> RemoteProcess:
        """A process that runs a command in a container, or for None what runs in it already. Raises a StatusError."""
        ...

    def port(self, pod: Object, port: int) -> PortHandler:
        """The listener on a port. Raises a StatusError if there is none."""
        ...

    def kubelet(self, node: Object, pods: Callable[[], Iterable[Object]]) -> PortHandler:
        """The kubelet of a node at its own port, which may look at all pods of the cluster."""
        ...
