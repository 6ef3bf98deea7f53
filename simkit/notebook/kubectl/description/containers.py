"""Containers as kubectl describes them.

Upstream: describeContainers in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simkit.meta.objects import Object, at
from simkit.meta.quantity import NANO, parse
from simkit.notebook.kubectl.description.parts import resource_lines, seccomp_lines, shown_time, yes_or_no

Container = Mapping[str, Any]


def container_lines(
    head: str, containers: Sequence[Container], statuses: Sequence[Mapping[str, Any]] = (), pod: Object | None = None
) -> Iterator[str]:
    """Containers of a pod with their states, or those of a template, which are indented."""
    space = "" if pod else "  "
    known = {each["name"]: each for each in statuses}
    yield f"{space}{head}:{'' if containers else ' <none>'}"
    for each in containers:
        status = known.get(each["name"])
        yield f"  {' ' if space else ''}{each['name']}:"
        yield from _basic(each, status)
        for field, title in (("command", "Command"), ("args", "Args")):
            if each.get(field):
                yield f"    {title}:"
                yield from (f"      {line}" for word in each[field] for line in word.split("\n"))
        if status is not None:
            yield from _state(status)
        yield from resource_lines(each.get("resources"), "    ")
        for field, title in (
            ("livenessProbe", "Liveness"),
            ("readinessProbe", "Readiness"),
            ("startupProbe", "Startup"),
        ):
            if each.get(field):
                yield f"    {title}:\t{_probe(each[field])}"
        yield from _environment_sources(each)
        yield from _environment(each, pod)
        yield from _mounts(each)


def _basic(container: Container, status: Mapping[str, Any] | None) -> Iterator[str]:
    if status is not None:
        yield f"    Container ID:\t{status.get('containerID', '')}"
    yield f"    Image:\t{container.get('image', '')}"
    if status is not None:
        yield f"    Image ID:\t{status.get('imageID', '')}"
    for field, title in (("containerPort", "Port"), ("hostPort", "Host Port")):
        ports = [f"{each.get(field, 0)}/{each.get('protocol', 'TCP')}" for each in container.get("ports") or ()]
        yield f"    {title}{'s' if len(ports) > 1 else ''}:\t{', '.join(ports) or '<none>'}"
    yield from seccomp_lines(container, "    ", "      ")


def _state(status: Mapping[str, Any]) -> Iterator[str]:
    yield from _one_state("State", status.get("state") or {})
    if at(status, "lastState", "terminated"):
        yield from _one_state("Last State", status["lastState"])
    yield f"    Ready:\t{bool(status.get('ready'))!s}"
    yield f"    Restart Count:\t{status.get('restartCount', 0)}"


def _one_state(title: str, state: Mapping[str, Any]) -> Iterator[str]:
    if state.get("running") is not None:
        yield f"    {title}:\tRunning"
        yield f"      Started:\t{shown_time(state['running'].get('startedAt'))}"
        return
    ended = state.get("terminated")
    yield f"    {title}:\t{'Terminated' if ended is not None else 'Waiting'}"
    details = ended if ended is not None else state.get("waiting") or {}
    if details.get("reason"):
        yield f"      Reason:\t{details['reason']}"
    if ended is None:
        return
    if ended.get("message"):
        yield f"      Message:\t{ended['message']}"
    yield f"      Exit Code:\t{ended.get('exitCode', 0)}"
    if ended.get("signal"):
        yield f"      Signal:\t{ended['signal']}"
    yield f"      Started:\t{shown_time(ended.get('startedAt'))}"
    yield f"      Finished:\t{shown_time(ended.get('finishedAt'))}"


def _probe(probe: Mapping[str, Any]) -> str:
    rest = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 0)}s "
        f"period={probe.get('periodSeconds', 0)}s #success={probe.get('successThreshold', 0)} "
        f"#failure={probe.get('failureThreshold', 0)}"
    )
    if probe.get("exec"):
        return f"exec [{' '.join(probe['exec'].get('command') or ())}] {rest}"
    if probe.get("httpGet"):
        get = probe["httpGet"]
        host = get.get("host", "")
        shown = f"[{host}]" if ":" in host else host
        path = get.get("path", "")
        return f"http-get {get.get('scheme', '').lower()}://{shown}:{get['port']}{path} {rest}"
    if probe.get("tcpSocket"):
        return f"tcp-socket {probe['tcpSocket'].get('host', '')}:{probe['tcpSocket']['port']} {rest}"
    if probe.get("grpc"):
        return f"grpc <pod>:{probe['grpc']['port']} {probe['grpc'].get('service', '')} {rest}"
    return f"unknown {rest}"


def _environment_sources(container: Container) -> Iterator[str]:
    if container.get("envFrom"):
        yield "    Environment Variables from:"
    for each in container.get("envFrom") or ():
        kind, field = ("ConfigMap", "configMapRef") if each.get("configMapRef") else ("Secret", "secretRef")
        source = each.get(field) or {}
        prefix = f" with prefix '{each['prefix']}'" if each.get("prefix") else ""
        yield f"      {source.get('name', '')}\t{kind}{prefix}\tOptional: {yes_or_no(source.get('optional'))}"


def _environment(container: Container, pod: Object | None) -> Iterator[str]:
    variables = container.get("env") or ()
    yield f"    Environment:{'' if variables else chr(9) + '<none>'}"
    for each in variables:
        name, source = each["name"], each.get("valueFrom")
        if not source:
            first, *more = (each.get("value") or "").split("\n")
            yield f"      {name}:\t{first}"
            yield from (f"      \t{line}" for line in more)
        elif source.get("fieldRef"):
            reference = source["fieldRef"]
            value = _field(pod, reference["fieldPath"]) if pod else ""
            yield f"      {name}:\t{value} ({reference.get('apiVersion', 'v1')}:{reference['fieldPath']})"
        elif source.get("resourceFieldRef"):
            resource = source["resourceFieldRef"]["resource"]
            yield f"      {name}:\t{_amount(container, source['resourceFieldRef'])} ({resource})"
        else:
            form = "in secret" if source.get("secretKeyRef") else "of config map"
            key = source.get("secretKeyRef") or source["configMapKeyRef"]
            optional = yes_or_no(key.get("optional"))
            yield f"      {name}:\t<set to the key '{key['key']}' {form} '{key.get('name', '')}'>\tOptional: {optional}"


def _field(pod: Object, path: str) -> str:
    """The value of a field of a pod as the downward API gives it."""
    name, bracket, key = path.partition("['")
    value = at(pod, *name.split("."))
    if bracket:
        return str((value or {}).get(key.removesuffix("']"), ""))
    if isinstance(value, Mapping):
        return "\n".join(f"{key}={json.dumps(text)}" for key, text in sorted(value.items()))
    return "" if value is None else str(value)


def _amount(container: Container, reference: Mapping[str, Any]) -> str:
    """A limit or request in units of the divisor, rounded up."""
    family, _, resource = reference["resource"].partition(".")
    written = at(container, "resources", family, resource)
    divisor = parse(str(reference.get("divisor") or "1")).nano or NANO
    value = -(-parse(str(written)).nano // divisor) if written else 0
    return "node allocatable" if not value and family == "limits" and resource in ("cpu", "memory") else str(value)


def _mounts(container: Container) -> Iterator[str]:
    mounts, none = container.get("volumeMounts") or (), "\t<none>"
    yield f"    Mounts:{'' if mounts else none}"
    for each in sorted(mounts, key=lambda each: str(each["mountPath"])):
        flags = "ro" if each.get("readOnly") else "rw"
        flags += f",path={json.dumps(each['subPath'])}" if each.get("subPath") else ""
        yield f"      {each['mountPath']} from {each['name']} ({flags})"
    if container.get("volumeDevices"):
        yield f"    Devices:{'' if mounts else none}"
        for each in sorted(container["volumeDevices"], key=lambda each: str(each["devicePath"])):
            yield f"      {each['devicePath']} from {each['name']}"
