"""Strategies of Ingress, IngressClass, NetworkPolicy, IPAddress and ServiceCIDR.

Follows ``pkg/registry/networking`` and ``pkg/apis/networking/validation/validation.go``, releases 1.30 and 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, columns, created, selector_text
from simkit.kinds.parts.copy_on_write import (
    keep_all_but_own_status,
    keep_all_but_status,
    missing,
    own_copy,
    own_items,
    prepared,
    without_empty,
)
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.kinds.parts.service.validation import reached_at, validate_load_balancer_status
from simkit.kinds.parts.validation.fields import DOMAIN_PATH, validate_text, wildcard_subdomain
from simkit.kinds.parts.validation.ip import (
    PORT,
    Network,
    address,
    balancer_warnings,
    cidr_warnings,
    family,
    network,
    validate_canonical_cidr,
    validate_canonical_ip,
    validate_cidr,
)
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR, validate_local_reference
from simkit.kinds.rules import (
    FIXED,
    REQUIRED,
    by,
    fields,
    fixed,
    items,
    last,
    must,
    placed,
    row,
    table,
    validation,
    whole,
)
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, Subresource, checked_twice, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, FieldError, Shown, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_label, dns_subdomain, path_segment, port_name
from simkit.meta.objects import Draft, Object, annotations_of, at, name_of

_CLASS: Final = label("ingress.class")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_SUFFIXES: Final = ("/..", "/.")
_INGRESS_SHOWN: Final = 3


def _default_ingress(behaviour: ServedBehaviour, draft: Draft) -> None:
    """Forget rules that are an empty list; errors tell them from none where there is no other backend."""
    if at(draft, "spec", "defaultBackend") is not None:
        without_empty(own_copy(draft, "spec"), ("rules",))


def _validate_annotation(behaviour: ServedBehaviour, path: str, obj: Object) -> Errors:
    """The error of a class in the old annotation that differs from the field."""
    given, chosen = annotations_of(obj).get(_CLASS), obj["spec"].get("ingressClassName")
    if given is None or chosen is None:
        return
    if not behaviour.applies("ingress-class-twice"):
        yield invalid_value(f"annotations.{_CLASS}", given, "can not be set when the class field is also set")
    elif given != chosen:
        yield invalid_value(f"annotations.{_CLASS}", given, "must match `ingressClassName` when both are specified")


def _validate_path(behaviour: ServedBehaviour, path: str, one: Object) -> Errors:
    kind, text = one.get("pathType"), one.get("path") or ""
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield unsupported(f"{path}.pathType", kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield invalid_value(f"{path}.path", text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for part in _SEQUENCES:
            if part in text:
                yield invalid_value(f"{path}.path", text, f"must not contain '{part}'")
        for part in _SUFFIXES:
            if text.endswith(part):
                yield invalid_value(f"{path}.path", text, f"cannot end with '{part}'")
    yield from _validate_backend(behaviour, f"{path}.backend", one.get("backend") or {})


def _validate_backend(behaviour: ServedBehaviour, path: str, backend: Object) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid_value(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from validate_local_reference(behaviour, f"{path}.resource", resource)
    elif service is not None:
        yield from _validate_service(behaviour, service, path)
    else:
        yield invalid_value(path, "", "resource or service backend is required")


def _validate_service(behaviour: ServedBehaviour, service: Object, path: str) -> Errors:
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


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    return validate_load_balancer_status(behaviour, "status.loadBalancer", obj.get("status") or {}, modes=False)


def _shown_rules(spec: Object) -> Shown:
    given = spec.get("rules")
    return Shown(f"[]networking.IngressRule{'(nil)' if given is None else '{}'}", given)


_HOST: Final = must.be(lambda host: wildcard_subdomain(host) if "*" in host else dns_subdomain(host))
_INGRESS: Final = validation(
    row(
        "spec",
        row(
            "",
            must.be_otherwise("either `defaultBackend` or `rules` must be specified", _shown_rules),
            when=lambda spec: "defaultBackend" not in spec and not spec.get("rules"),
        ),
        row("defaultBackend", by(_validate_backend)),
        row(
            "rules[]",
            row(
                "host",
                table(must.hold(lambda host: address(host) is None, "must be a DNS name, not an IP address"), _HOST),
            ),
            row("http", row("paths", REQUIRED), row("paths[]", by(_validate_path))),
        ),
        row("tls[]", row("hosts[]", _HOST), row("secretName", must.be(dns_subdomain))),
        row("ingressClassName", must.be(dns_subdomain), empty=True),
    ),
    created=(by(_validate_annotation),),
)


def _ingress_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
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
    hosts = [rules[index]["host"] for index in named[:_INGRESS_SHOWN]]
    more = len(hosts) == _INGRESS_SHOWN and named[_INGRESS_SHOWN - 1] + 1 < len(rules)
    return (",".join(hosts) or "*") + (f" + {len(rules) - _INGRESS_SHOWN} more..." if more else "")


_IN_NAMESPACE: Final = fields.equal("scope", "Namespace")
_NAMESPACED: Final = must.be_given("`parameters.scope` is set to 'Namespace'", pointer=True)
_FIELDS: Final = table(
    row("spec.controller", must.be_no_longer_than(250)),
    row("spec.controller", DOMAIN_PATH, zero=""),
    row(
        "spec.parameters",
        table(
            by(validate_local_reference),
            row("scope", must.be_one_of("Cluster", "Namespace"), empty=True),
            row(
                "namespace",
                must.be_absent("`parameters.scope` is set to 'Cluster'", pointer=True),
                when=fields.equal("scope", "Cluster"),
                empty=True,
            ),
            row("namespace", _NAMESPACED, must.be(dns_label), when=_IN_NAMESPACE),
        ),
    ),
)


def _parameters(obj: Object) -> str:
    reference = at(obj, "spec", "parameters")
    if reference is None:
        return NONE
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    return f"{reference.get('kind', '')}{group}/{reference.get('name', '')}"


_IP_ADDRESS_SHOWN: Final = partial(structure, "networking.ParentReference")


def _parent(obj: Object) -> str:
    reference = at(obj, "spec", "parentRef")
    if reference is None:
        return NONE
    kind = f"{reference.get('resource', '')}.{reference.get('group', '')}".rstrip(".").lower()
    return "/".join(filter(None, (kind, reference.get("namespace"), reference.get("name"))))


_TYPES: Final = ("Ingress", "Egress")
_NO_RANGE: Final = "not a valid CIDR"
_SHOWN_TYPES: Final = partial(texts, kind="networking.PolicyType")
_SIDES: Final = (("ingress", "from"), ("egress", "to"))


def _default_network_policy(behaviour: ServedBehaviour, draft: Draft) -> None:
    if behaviour.applies("network-policies-have-status"):
        draft.setdefault("status", {})
    spec = own_copy(draft, "spec")
    for side, _ in _SIDES:
        for rule in own_items(spec, side):
            for port in own_items(rule, "ports"):
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate_end(behaviour: ServedBehaviour, path: str, port: Object) -> Errors:
    """The errors of a port or range of ports; kube-apiserver shows the first number where the last is less."""
    first, last = port.get("port"), port.get("endPort")
    if isinstance(first, str):
        if last is not None:
            yield invalid_value(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
        yield from validate_text(f"{path}.port", first, port_name)
    elif first is not None:
        yield from placed(f"{path}.port", PORT(behaviour, first))
        if last is not None:
            if last < first:
                yield invalid_value(f"{path}.endPort", first, "must be greater than or equal to `port`")
            yield from placed(f"{path}.endPort", PORT(behaviour, last))
    elif last is not None:
        yield invalid_value(f"{path}.endPort", last, "may not be specified when `port` is not specified")


def _validate_block(behaviour: ServedBehaviour, path: str, block: Object) -> Errors:
    text = block.get("cidr") or ""
    if not text:
        yield required(f"{path}.cidr")
        return
    yield from validate_cidr(behaviour, f"{path}.cidr", text, formerly=_NO_RANGE)
    whole = network(text)
    if whole is None:
        return
    for index, one in enumerate(block.get("except") or ()):
        where, part = f"{path}.except[{index}]", network(one)
        yield from validate_cidr(behaviour, where, one, formerly=_NO_RANGE)
        if part is None and not behaviour.applies("addresses-told-alike"):
            return
        if part is not None and not _inside(part, whole):
            yield invalid_value(where, one, "must be a strict subset of `cidr`")


def _inside(part: Network, whole: Network) -> bool:
    """True if a range is a strict subset of another one."""
    same = part.version == whole.version
    return same and part.network_address in whole and part.prefixlen > whole.prefixlen


_PORT: Final = table(row("protocol", must.be_one_of("TCP", "UDP", "SCTP"), empty=True), by(_validate_end))


def _is_mixed(peer: Object) -> bool:
    return "ipBlock" in peer and bool(peer.keys() & {"podSelector", "namespaceSelector"})


_PEER: Final = table(
    row("podSelector", LABEL_SELECTOR),
    row("namespaceSelector", LABEL_SELECTOR),
    row("ipBlock", by(_validate_block)),
    row("", must.be_set("must specify a peer"), when=fields.absent("podSelector", "namespaceSelector", "ipBlock")),
    row("", must.be_refused("may not specify both ipBlock and another peer"), when=_is_mixed),
)


_RULES: Final = validation(
    row("spec.podSelector", LABEL_SELECTOR),
    row("spec.ingress[]", row("ports[]", _PORT), row("from[]", _PEER)),
    row("spec.egress[]", row("ports[]", _PORT), row("to[]", _PEER)),
    row(
        "spec.policyTypes",
        must.hold(lambda types: len(types) <= 2, "may not specify more than two policyTypes", _SHOWN_TYPES),
        items(must.be_one_of(*_TYPES)),
    ),
)


def _network_policy_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    """The warnings about ranges, which came when all warnings about addresses changed."""
    if not behaviour.applies("addresses-warned-about"):
        return
    for side, peers in _SIDES:
        for index, rule in enumerate(at(obj, "spec", side) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                block, path = peer.get("ipBlock") or {}, f"spec.{side}[{index}].{peers}[{number}].ipBlock"
                yield from cidr_warnings(behaviour, f"{path}.cidr", block.get("cidr") or "")
                for place, text in enumerate(block.get("except") or ()):
                    yield from cidr_warnings(behaviour, f"{path}.except[{place}]", text)


def _prepare_network_policy(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """From 1.24 to 1.27 the status of a policy that has conditions already stays."""
    if not _wipes_status(behaviour) and old is not None and at(old, "status", "conditions"):
        draft["status"] = old["status"]


def _keep_old_status(behaviour: ServedBehaviour, draft: Draft, live: Object) -> None:
    """Without the feature gate a status can only be cleared."""
    keep_all_but_status(behaviour, draft, live)
    if not _wipes_status(behaviour):
        draft["status"] = live.get("status") or {} if at(draft, "status", "conditions") else {}


def _wipes_status(behaviour: ServedBehaviour) -> bool:
    return not behaviour.applies("network-policies-have-status")


_RANGES: Final = "spec.cidrs"
_ONE_EACH: Final = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def _prepare_service_cidr(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    draft["status"] = draft.get("status") or {}


def _validate_service_cidr(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    ranges: Sequence[str] | None = at(obj, "spec", "cidrs")
    if old is None:
        return list(_validate_ranges(ranges or []))
    return list(_validate_change(behaviour, ranges, at(old, "spec", "cidrs") or []))


def _validate_ranges(ranges: Sequence[str]) -> Errors:
    if not ranges:
        yield required(_RANGES, "at least one CIDR required")
        return
    if len(ranges) > 2:
        spec = structure("networking.ServiceCIDRSpec", {"cidrs": ranges})
        yield invalid_value(_RANGES, spec, "may only hold up to 2 values")
        return
    for index, text in enumerate(ranges):
        yield from validate_canonical_cidr(f"{_RANGES}[{index}]", text)
    families = [family(text.partition("/")[0]) for text in ranges if network(text) is not None]
    if len(families) == 2 and families[0] == families[1]:
        yield invalid_value(_RANGES, texts(ranges), _ONE_EACH)


def _validate_change(behaviour: ServedBehaviour, given: Sequence[str] | None, before: Sequence[str]) -> Errors:
    """The errors of a change: one range may get a second of the other family."""
    now = given or []
    if not behaviour.applies("service-ranges-grow"):
        if list(now) != list(before):
            yield invalid_value(_RANGES, texts(given), FIXED)
    elif len(now) == len(before):
        for index, (text, old) in enumerate(zip(now, before, strict=True)):
            if text != old:
                yield invalid_value(f"{_RANGES}[{index}]", text, FIXED)
    elif len(before) == 1 and len(now) == 2:
        if now[0] != before[0]:
            yield invalid_value(f"{_RANGES}[0]", now[0], FIXED)
        yield from _validate_ranges(now)
    else:
        yield invalid_value(_RANGES, texts(given), FIXED)


STRATEGIES: Final = {
    "Ingress": Strategy(
        default=_default_ingress,
        prepare=prepared(spec=True, status={"loadBalancer": {}}),
        validate=_INGRESS,
        raises_generation=spec_differs,
        print_row=_row,
        warnings=_ingress_warnings,
        subresources={"status": Subresource(keep_all_but_status, _validate_status, balancer_warnings)},
    ),
    "IngressClass": Strategy(
        default=missing("spec.parameters", {"scope": "Cluster"}, optional=True),
        prepare=prepared(spec=True),
        metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
        validate=validation(created=(_FIELDS,), changed=fixed("spec.controller", zero="")),
        validate_last=last(whole(_FIELDS)),
        raises_generation=spec_differs,
        print_row=columns("spec.controller", _parameters),
    ),
    "IPAddress": Strategy(
        validate_name=lambda name, _: [error.detail for error in validate_canonical_ip("", name)],
        validate=validation(
            row(
                "spec.parentRef",
                must.be_given(pointer=True),
                table(
                    row("group", must.be(dns_subdomain)),
                    row("resource", REQUIRED, must.be(path_segment)),
                    row("name", REQUIRED, must.be(path_segment)),
                    row("namespace", must.be(path_segment)),
                ),
            ),
            changed=fixed("spec.parentRef", shown=lambda parent: parent and _IP_ADDRESS_SHOWN(parent)),
        ),
        print_row=columns(_parent),
    ),
    "NetworkPolicy": Strategy(
        prepare=_prepare_network_policy,
        subresources={"status": Subresource(_keep_old_status, owns_all=True)},
        wipes_status=_wipes_status,
        metadata_checks=checked_twice("network-policies-checked-once"),
        default=_default_network_policy,
        validate=_RULES,
        warnings=_network_policy_warnings,
        raises_generation=spec_differs,
        counts_empty_parts=True,
        print_row=columns(lambda obj: selector_text(at(obj, "spec", "podSelector"))),
    ),
    "ServiceCIDR": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        prepare=_prepare_service_cidr,
        validate=_validate_service_cidr,
        print_row=columns(lambda obj: ",".join(at(obj, "spec", "cidrs") or ())),
        subresources={"status": Subresource(keep_all_but_own_status, owns_all=True)},
        status_reset_fields=(("metadata",),),
        reset_fields=lambda behaviour: {} if behaviour.applies("status-of-ranges-apart") else {"": (), "status": ()},
        wipes_status=lambda behaviour: behaviour.applies("status-of-ranges-apart"),
    ),
}
