"""Strategy of Ingress: validation of rules and backends, warnings, printer columns.

Follows ``pkg/registry/networking/ingress/strategy.go`` and ``pkg/apis/networking/validation/validation.go``, release
1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy, prepared, without_empty
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.service.validation import reached_at, validate_load_balancer_status
from simkit.kinds.parts.validation.fields import validate_text, wildcard_subdomain
from simkit.kinds.parts.validation.ip import PORT, address, balancer_warnings
from simkit.kinds.parts.validation.object_meta import validate_local_reference
from simkit.kinds.rules import placed
from simkit.kinds.strategy import Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, Shown, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_label, dns_subdomain, port_name
from simkit.meta.objects import Draft, Object, annotations_of, at, name_of

_CLASS: Final = label("ingress.class")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_ABSOLUTE: Final = "must be an absolute path"
_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_SUFFIXES: Final = ("/..", "/.")
_SHOWN: Final = 3


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    """Forget rules that are an empty list; errors tell them from none where there is no other backend."""
    if at(draft, "spec", "defaultBackend") is not None:
        without_empty(own_copy(draft, "spec"), ("rules",))


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
    spec = obj["spec"]
    rules = spec.get("rules") or ()
    if not rules and "defaultBackend" not in spec:
        given = spec.get("rules")
        shown = Shown(f"[]networking.IngressRule{'(nil)' if given is None else '{}'}", given)
        yield invalid_value("spec", shown, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _validate_backend(behaviour, spec["defaultBackend"], "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _validate_rule(behaviour, rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for number, host in enumerate(tls.get("hosts") or ()):
            yield from _validate_host(host, f"spec.tls[{index}].hosts[{number}]")
        if tls.get("secretName"):
            yield from validate_text(f"spec.tls[{index}].secretName", tls["secretName"], dns_subdomain)
    if spec.get("ingressClassName") is not None:
        yield from validate_text("spec.ingressClassName", spec["ingressClassName"], dns_subdomain)
    if old is None:
        yield from _validate_annotation(behaviour, obj)


def _validate_annotation(behaviour: ServedBehaviour, obj: Object) -> Iterator[FieldError]:
    """The error of a class in the old annotation that differs from the field."""
    given, chosen = annotations_of(obj).get(_CLASS), obj["spec"].get("ingressClassName")
    if given is None or chosen is None:
        return
    if not behaviour.applies("ingress-class-twice"):
        yield invalid_value(f"annotations.{_CLASS}", given, "can not be set when the class field is also set")
    elif given != chosen:
        yield invalid_value(f"annotations.{_CLASS}", given, "must match `ingressClassName` when both are specified")


def _validate_host(host: str, path: str) -> Iterator[FieldError]:
    yield from validate_text(path, host, wildcard_subdomain if "*" in host else dns_subdomain)


def _validate_rule(behaviour: ServedBehaviour, rule: Object, path: str) -> Iterator[FieldError]:
    host = rule.get("host") or ""
    if host:
        if address(host) is not None:
            yield invalid_value(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from _validate_host(host, f"{path}.host")
    if rule.get("http") is None:
        return
    paths = rule["http"].get("paths") or ()
    if not paths:
        yield required(f"{path}.http.paths")
    for index, one in enumerate(paths):
        yield from _validate_path(behaviour, one, f"{path}.http.paths[{index}]")


def _validate_path(behaviour: ServedBehaviour, one: Object, path: str) -> Iterator[FieldError]:
    kind, text = one.get("pathType"), one.get("path") or ""
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield unsupported(f"{path}.pathType", kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield invalid_value(f"{path}.path", text, _ABSOLUTE)
    if kind in ("Exact", "Prefix"):
        for part in _SEQUENCES:
            if part in text:
                yield invalid_value(f"{path}.path", text, f"must not contain '{part}'")
        for part in _SUFFIXES:
            if text.endswith(part):
                yield invalid_value(f"{path}.path", text, f"cannot end with '{part}'")
    yield from _validate_backend(behaviour, one.get("backend") or {}, f"{path}.backend")


def _validate_backend(behaviour: ServedBehaviour, backend: Object, path: str) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid_value(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from validate_local_reference(behaviour, f"{path}.resource", resource)
    elif service is not None:
        yield from _validate_service(behaviour, service, path)
    else:
        yield invalid_value(path, "", "resource or service backend is required")


def _validate_service(behaviour: ServedBehaviour, service: Object, path: str) -> Iterator[FieldError]:
    name = service.get("name") or ""
    if not name:
        yield required(f"{path}.service.name")
    else:
        rule = dns_label if behaviour.applies("relaxed-service-names") else dns1035_label
        yield from validate_text(f"{path}.service.name", name, rule)
    named, number = at(service, "port", "name") or "", at(service, "port", "number") or 0
    if named and number:
        yield invalid_value(path, "", "cannot set both port name & port number")
    elif named:
        yield from validate_text(f"{path}.service.port.name", named, port_name)
    elif number:
        yield from placed(f"{path}.service.port.number", PORT(behaviour, number))
    else:
        yield required(path, "port name or number is required")


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
    return validate_load_balancer_status(behaviour, "status.loadBalancer", obj.get("status") or {}, modes=False)


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    named = at(obj, "spec", "ingressClassName") is not None
    if old is not None or named or _CLASS not in annotations_of(obj) or not behaviour.applies("ingress-class-twice"):
        return ()
    return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    reached = ",".join(reached_at(obj.get("status") or {}))
    ports = "80, 443" if spec.get("tls") else "80"
    hosts = _hosts(spec.get("rules") or ())
    return [name_of(obj), spec.get("ingressClassName", NONE), hosts, reached, ports, created(obj, now)]


def _hosts(rules: Sequence[Object]) -> str:
    """The first three hosts, followed by the number of further rules."""
    named = [index for index, rule in enumerate(rules) if rule.get("host")]
    hosts = [rules[index]["host"] for index in named[:_SHOWN]]
    more = len(hosts) == _SHOWN and named[_SHOWN - 1] + 1 < len(rules)
    return (",".join(hosts) or "*") + (f" + {len(rules) - _SHOWN} more..." if more else "")


STRATEGY = Strategy(
    default=_default,
    prepare=prepared(spec=True, status={"loadBalancer": {}}),
    validate=_validate,
    raises_generation=spec_differs,
    print_row=_row,
    warnings=_warnings,
    subresources={"status": Subresource(keep_all_but_status, _validate_status, balancer_warnings)},
)
