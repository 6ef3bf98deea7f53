"""The environment variables of a container, and the fields of its pod that it names."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from simkit.client.resources import CONFIG_MAPS, SECRETS, SERVICES
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of, namespace_of
from simkit.meta.quantity import parse

# Fields of a pod, and amounts of its containers, as the downward API shows them.
# Upstream: pkg/fieldpath/fieldpath.go and pkg/api/v1/resource/helpers.go (``ExtractContainerResourceValue``),
# release 1.30.


def field_value(pod: Object, path: str) -> str:
    """The text of a field of a pod, as the downward API gives it.

    Examples
    --------
    >>> field_value({"metadata": {"name": "web", "labels": {"app": "x"}}}, "metadata.labels['app']")
    'x'
    """
    for prefix, values in (("metadata.labels['", labels_of(pod)), ("metadata.annotations['", annotations_of(pod))):
        if path.startswith(prefix):
            return values.get(path[len(prefix) :].removesuffix("']"), "")
    if path.startswith("metadata."):
        return str(metadata(pod).get(path.removeprefix("metadata."), ""))
    return str(at(pod, *path.split(".")) or "")


def listed_fields(pod: Object, path: str) -> str:
    """The same, where labels and annotations may be asked for as a whole, a line for each.

    Examples
    --------
    >>> listed_fields({"metadata": {"labels": {"b": "2", "a": "1"}}}, "metadata.labels")
    'a="1"\\nb="2"'
    """
    whole = {"metadata.labels": labels_of, "metadata.annotations": annotations_of}.get(path)
    if whole is None:
        return field_value(pod, path)
    return "\n".join(f'{key}="{value}"' for key, value in sorted(whole(pod).items()))


def resource_value(pod: Object, container: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """An amount that a container requests or is limited to, in whole multiples of the divisor."""
    named = reference.get("containerName")
    chosen = next((each for each in at(pod, "spec", "containers") or () if each.get("name") == named), container)
    kind, _, name = str(reference.get("resource", "")).partition(".")
    text = at(chosen, "resources", kind, name) or "0"
    divisor = parse(str(reference.get("divisor") or "1")).nano or parse("1").nano
    return str(-(-parse(str(text)).nano // divisor))


# The environment variables of a container.
# Upstream: pkg/kubelet/kubelet_pods.go (``makeEnvironmentVariables``) and pkg/kubelet/envvars/envvars.go, release 1.30.

Get = Callable[[Key], Object | None]
"""The object of a key, if it is there."""
_REFERENCE: Final = re.compile(r"\$(\$|\(([A-Za-z_.-][\w.-]*)\))")
TERMINAL_VARIABLE: Final = "TERM"
TERMINAL: Final[Mapping[str, str]] = {TERMINAL_VARIABLE: "xterm"}
"""The variable of programs that have a terminal."""
_MASTER: Final = ("default", "kubernetes")


def environment(pod: Object, container: Mapping[str, Any], get: Get, services: Iterable[Object] = ()) -> dict[str, str]:
    """The variables of a container: those of services, of whole maps, and its own, which may name earlier ones.

    Parameters
    ----------
    pod, container
        What they are for.
    get
        Finds config maps and secrets.
    services
        The services of the pod's namespace.
    """
    found = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME": at(pod, "spec", "hostname") or name_of(pod),
        "HOME": "/root",
        **(TERMINAL if container.get("tty") else {}),
    }
    linked = services if at(pod, "spec", "enableServiceLinks") is not False else ()
    master = get(Key(SERVICES, *_MASTER))
    for service in (*([master] if master else ()), *linked):
        found |= service_variables(service)
    for source in container.get("envFrom") or ():
        for field, resource in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
            if source.get(field):
                known = get(Key(resource, namespace_of(pod), source[field].get("name", "")))
                texts = {key: value.decode("utf-8", "replace") for key, value in content(known).items()}
                found |= {f"{source.get('prefix') or ''}{key}": value for key, value in texts.items()}
    for variable in container.get("env") or ():
        value = _value(pod, container, variable, get)
        found[variable.get("name", "")] = value if "valueFrom" in variable else expanded(value, found)
    return found


def _value(pod: Object, container: Mapping[str, Any], variable: Mapping[str, Any], get: Get) -> str:
    source = variable.get("valueFrom") or {}
    if source.get("fieldRef"):
        return field_value(pod, source["fieldRef"].get("fieldPath", ""))
    if source.get("resourceFieldRef"):
        return resource_value(pod, container, source["resourceFieldRef"])
    for field, resource in (("configMapKeyRef", CONFIG_MAPS), ("secretKeyRef", SECRETS)):
        if source.get(field):
            known = get(Key(resource, namespace_of(pod), source[field].get("name", "")))
            return content(known).get(source[field].get("key", ""), b"").decode("utf-8", "replace")
    return str(variable.get("value") or "")


def content(obj: Object | None) -> dict[str, bytes]:
    """The content of a config map or secret, by key."""
    if obj is None:
        return {}
    encoded = obj.get("data") if obj.get("kind") == "Secret" else obj.get("binaryData")
    plain = {} if obj.get("kind") == "Secret" else obj.get("data") or {}
    found = {key: str(value).encode() for key, value in plain.items()}
    for key, value in (encoded or {}).items():
        try:
            found[key] = base64.b64decode(value or "")
        except ValueError:
            found[key] = b""
    return dict(sorted(found.items()))


def expanded(text: str, known: Mapping[str, str]) -> str:
    """A text with its references to variables replaced; unknown ones stay.

    Examples
    --------
    >>> expanded("$(A)-$(B)-$$(A)", {"A": "1"})
    '1-$(B)-$(A)'
    """
    return _REFERENCE.sub(lambda found: "$" if found[1] == "$" else known.get(found[2], found[0]), text)


def service_variables(service: Object) -> dict[str, str]:
    """The variables by which programs find a service; none for one without an address.

    Examples
    --------
    >>> spec = {"clusterIP": "10.0.0.7", "ports": [{"name": "web", "port": 80}]}
    >>> sorted(service_variables({"metadata": {"name": "my-app"}, "spec": spec}))[-3:]
    ['MY_APP_SERVICE_HOST', 'MY_APP_SERVICE_PORT', 'MY_APP_SERVICE_PORT_WEB']
    """
    address, ports = at(service, "spec", "clusterIP"), at(service, "spec", "ports") or ()
    if not address or address == "None" or not ports:
        return {}
    prefix = name_of(service).upper().replace("-", "_")
    found = {f"{prefix}_SERVICE_HOST": address, f"{prefix}_SERVICE_PORT": str(ports[0]["port"])}
    for port in ports:
        if port.get("name"):
            found[f"{prefix}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}"] = str(port["port"])
    for number, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{address}:{port['port']}"
        if number == 0:
            found[f"{prefix}_PORT"] = url
        start = f"{prefix}_PORT_{port['port']}_{protocol}"
        found |= {start: url, f"{start}_PROTO": protocol.lower(), f"{start}_PORT": str(port["port"])}
        found[f"{start}_ADDR"] = address
    return found
