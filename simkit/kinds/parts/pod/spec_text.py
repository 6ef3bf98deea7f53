"""The difference between two pod specs as a refusal shows it: fields that changed, with a few around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.changed_fields import shown_fields
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object

_FIELDS: Final = (
    "Volumes",
    "InitContainers",
    "Containers",
    "EphemeralContainers",
    "RestartPolicy",
    "TerminationGracePeriodSeconds",
    "ActiveDeadlineSeconds",
    "DNSPolicy",
    "NodeSelector",
    "ServiceAccountName",
    "AutomountServiceAccountToken",
    "NodeName",
    "SecurityContext",
    "ImagePullSecrets",
    "Hostname",
    "Subdomain",
    "SetHostnameAsFQDN",
    "Affinity",
    "SchedulerName",
    "Tolerations",
    "HostAliases",
    "PriorityClassName",
    "Priority",
    "PreemptionPolicy",
    "DNSConfig",
    "ReadinessGates",
    "RuntimeClassName",
    "Overhead",
    "EnableServiceLinks",
    "TopologySpreadConstraints",
    "OS",
    "SchedulingGates",
    "ResourceClaims",
)
"""The fields of the structure in its order. Those of the host are inside of ``SecurityContext`` there."""
_KEYS: Final = {
    "DNSPolicy": "dnsPolicy",
    "DNSConfig": "dnsConfig",
    "OS": "os",
    "SetHostnameAsFQDN": "setHostnameAsFQDN",
}
_HOST: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_TEXTS: Final = frozenset(
    {"RestartPolicy", "DNSPolicy", "ServiceAccountName", "NodeName", "Hostname", "Subdomain", "SchedulerName"}
    | {"PriorityClassName"}
)


def difference(old: Object, new: Object) -> str:
    """The changed fields of a spec with two unchanged ones on either side; longer gaps are counted."""
    rows = [(name, _value(old, name), _value(new, name)) for name in _FIELDS]
    return "\n".join(["  core.PodSpec{", *shown_fields(rows, lambda row: row[1] != row[2], _lines), "  }", ""])


def _lines(rows: Sequence[tuple[str, Any, Any]]) -> Iterator[str]:
    """Neighbouring fields with their values below each other."""
    width = max(len(name) for name, _, _ in rows) + 1
    for name, before, after in rows:
        lead = f"\t{name + ':':{width}} "
        if before == after:
            yield f"  {lead}{_text(name, before)},"
        else:
            yield f"- {lead}{_text(name, before)},"
            yield f"+ {lead}{_text(name, after)},"


def _value(spec: Object, name: str) -> Any:
    if name == "SecurityContext":
        return {**(spec.get("securityContext") or {}), **{key: spec[key] for key in _HOST if key in spec}}
    return spec.get(_KEYS.get(name, name[0].lower() + name[1:]))


def _text(name: str, value: Any) -> str:
    if value is None:
        return '""' if name in _TEXTS else "nil"
    if isinstance(value, bool):
        return f"&{str(value).lower()}"
    if isinstance(value, int):
        return f"&{value}"
    if isinstance(value, str):
        return quoted(value) if name in _TEXTS else f"&{quoted(value)}"
    return _nested(value)


def _nested(value: Any) -> str:
    """A value inside of others, in the short form."""
    if isinstance(value, dict):
        listed = ", ".join(f"{key[0].upper()}{key[1:]}: {_nested(item)}" for key, item in value.items() if key)
        return f"{{{listed}}}"
    if isinstance(value, list | tuple):
        return f"{{{', '.join(map(_nested, value))}}}"
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)
