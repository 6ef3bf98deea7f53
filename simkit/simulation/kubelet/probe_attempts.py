"""One try of a probe: a command in the container, a request over HTTP, or a connection.

Upstream: pkg/kubelet/prober/prober.go and pkg/probe, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.engine.seams import PortHandler
from simkit.meta.errors import StatusError
from simkit.meta.objects import Object, at
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.container_commands import ContainerCommands
from simkit.simulation.kubelet.images import WEB_SERVERS, image_name
from simkit.simulation.kubelet.probes import LIVENESS, Outcome

_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})")
_PASSED: Final = Outcome(True, constant=True)
Dial = Callable[[Object, int], PortHandler]
"""Connects to a port of a pod. Raises StatusError where nothing listens."""


class ProbeAttempts:
    """Tries probes. What nothing is known of passes."""

    def __init__(self, behaviours: Behaviours, commands: ContainerCommands, dial: Dial) -> None:
        self._behaviours, self._commands, self._dial = behaviours, commands, dial

    def __call__(self, pod: Object, container: Mapping[str, Any], kind: str, address: str, now: float) -> Outcome:
        """Try a probe; ``address`` is that of the pod."""
        if kind == LIVENESS and self._behaviours.setting(pod, container, "live") == "false":
            return Outcome(False)
        probe = container[kind]
        if "exec" in probe:
            return self._command(pod, container, probe["exec"].get("command") or (), probe, now)
        handler = probe.get("httpGet") or probe.get("tcpSocket") or {}
        port = self._port(pod, container, handler)
        if port is None:
            return _PASSED
        return self._connect(pod, port, address, handler if "httpGet" in probe else None)

    def reaches(self, pod: Object, container: Mapping[str, Any], request: Mapping[str, Any], address: str) -> bool:
        """Send the request of a hook; gives back whether somebody answered it, whatever the answer is."""
        port = self._port(pod, container, request)
        try:
            return port is None or bool(self._dial(pod, port)(_get(request, f"{address}:{port}")))
        except StatusError:
            return False

    def _port(self, pod: Object, container: Mapping[str, Any], handler: Mapping[str, Any]) -> int | None:
        """The port of a request, if it is known what listens there."""
        port = _number(container, handler.get("port"))
        if port is None or handler.get("host"):
            return None
        served = image_name(container.get("image", "")) in WEB_SERVERS and not _configured(container)
        return port if served or self._behaviours.port(pod, port) is not None else None

    def _command(
        self, pod: Object, container: Mapping[str, Any], command: Sequence[str], probe: Mapping[str, Any], now: float
    ) -> Outcome:
        ran = self._commands.run(pod, container, command, now, float(probe.get("timeoutSeconds") or 1))
        if ran is None:
            return _PASSED
        if ran.code is None:
            return Outcome(False, f'command "{" ".join(command)}" timed out')
        return Outcome(ran.code == 0, ran.output)

    def _connect(self, pod: Object, port: int, address: str, request: Mapping[str, Any] | None) -> Outcome:
        where = f"{address}:{port}"
        path = _path(request or {})
        scheme = str((request or {}).get("scheme") or "HTTP").lower()
        before = f'Get "{scheme}://{where}{path}": ' if request is not None else ""
        try:
            answer = self._dial(pod, port)
        except StatusError:
            return Outcome(False, f"{before}dial tcp {where}: connect: connection refused")
        if request is None or scheme == "https":
            return Outcome(True)
        found = _STATUS.match(answer(_get(request, where)))
        if found is None:
            return Outcome(False, f"{before}EOF")
        code = int(found[1])
        passed = 200 <= code < 400
        return Outcome(passed, "" if passed else f"HTTP probe failed with statuscode: {code}")


def _path(request: Mapping[str, Any]) -> str:
    return "/" + str(request.get("path") or "/").lstrip("/")


def _get(request: Mapping[str, Any], where: str) -> bytes:
    """The text of a request over HTTP."""
    headers = "".join(f"{each.get('name')}: {each.get('value')}\r\n" for each in request.get("httpHeaders") or ())
    host = "" if "host:" in headers.lower() else f"Host: {where}\r\n"
    return f"GET {_path(request)} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n".encode()


def _configured(container: Mapping[str, Any]) -> bool:
    """True if a web server may serve something else than its files."""
    paths = (str(each.get("mountPath", "")) for each in container.get("volumeMounts") or ())
    return bool(container.get("command")) or any("nginx" in path or "/conf" in path for path in paths)


def _number(container: Mapping[str, Any], port: object) -> int | None:
    """The number of a port that a probe names."""
    if isinstance(port, int):
        return port
    named = (each for each in at(container, "ports") or () if each.get("name") == port)
    return next(
        (each["containerPort"] for each in named), int(port) if isinstance(port, str) and port.isdigit() else None
    )
