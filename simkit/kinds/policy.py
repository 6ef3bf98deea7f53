"""Strategies of PodDisruptionBudget and PodSecurityPolicy.

Follows ``pkg/registry/policy`` and ``pkg/apis/policy/validation/validation.go``, releases 1.30 and 1.24.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.cells import columns, number
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy, prepared
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.kinds.parts.pod.profiles import validate_seccomp_note
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.validation.fields import (
    CONDITIONS,
    validate_at_most_100_percent,
    validate_int_or_percent,
)
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.rules import Row, by, distinct, fields, first, must, placed, row, table, validation
from simkit.kinds.strategy import MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import (
    Errors,
    FieldError,
    Shown,
    forbidden_field,
    invalid_value,
    quoted,
    required,
    unsupported,
)
from simkit.meta.name_validation import dns_subdomain, path_segment
from simkit.meta.objects import Draft, Object, annotations_of, name_of
from simkit.meta.wording import Text

_COUNTS: Final = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
_BOUNDS: Final = ("minAvailable", "maxUnavailable")


_AMOUNT: Final = first(by(validate_int_or_percent), by(validate_at_most_100_percent))
_BOTH: Final = fields.present("minAvailable", "maxUnavailable")
_STATUS: Final = validation(
    row("status.conditions", CONDITIONS),
    *(
        row(f"status.{name}", must.be_nonnegative)
        for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    ),
)
_SHOWN: Final = partial(structure, "policy.PodDisruptionBudgetSpec")


def _bound(name: str) -> Callable[[Object], str]:
    return lambda obj: str(obj["spec"][name]) if name in (obj.get("spec") or {}) else "N/A"


_ALL: Final = "*"
_APP_ARMOR_DEFAULT: Final = label("defaultProfileName", "apparmor.security.beta")
_APP_ARMOR_ALLOWED: Final = label("allowedProfileNames", "apparmor.security.beta")
_SECCOMP_DEFAULT: Final = label("defaultProfileName", "seccomp.security.alpha")
_SECCOMP_ALLOWED: Final = label("allowedProfileNames", "seccomp.security.alpha")
VOLUME_TYPES: Final = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephFS",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
)
"""The types of volumes that a policy may name."""
_EPHEMERAL: Final = "ephemeral"
_LEFT_OUT_IF_FALSE: Final = ("privileged", "hostNetwork", "hostPID", "hostIPC", "readOnlyRootFilesystem")
"""Flags that kube-apiserver keeps without telling whether they were given."""
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTLS: Final = rf"({_SEGMENT}\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"
_SYSCTLS_RE: Final = re.compile(_SYSCTLS)
_LONGEST_SYSCTL: Final = 253


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    if spec.get("allowPrivilegeEscalation") is None:
        spec["allowPrivilegeEscalation"] = True
    for name in _LEFT_OUT_IF_FALSE:
        if spec.get(name) is False:
            del spec[name]
    if spec.get("allowedHostPaths"):
        spec["allowedHostPaths"] = [_without_false(each) for each in spec["allowedHostPaths"]]


def _without_false(rule: Object) -> Object:
    return {name: value for name, value in rule.items() if value is not False}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    former = ((old or {}).get("spec") or {}).get("volumes") or ()
    with_ephemeral = behaviour.applies("ephemeral-volumes-in-policies") or _EPHEMERAL in former
    return [
        *_validate_annotations(behaviour, obj),
        *placed("spec", _IDENTIFIERS(behaviour, spec)),
        *_validate_volumes(spec, with_ephemeral=with_ephemeral),
        *_validate_capabilities(spec),
        *placed("spec", _FLAGS(behaviour, spec)),
        *_validate_paths(spec),
        *placed("spec", _DRIVERS(behaviour, spec)),
        *_validate_sysctls(spec),
        *placed("spec", _CLASSES(behaviour, spec)),
    ]


def _validate_annotations(behaviour: ServedBehaviour, obj: Object) -> Errors:
    notes = annotations_of(obj)
    for key, several in ((_APP_ARMOR_DEFAULT, False), (_APP_ARMOR_ALLOWED, True)):
        value = notes.get(key)
        for profile in (value.split(",") if several else (value,)) if value else ():
            if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
                text = f"invalid AppArmor profile name: {quoted(profile)}"
                yield invalid_value(f"metadata.annotations[{key}]", value, text)
    for key, several in ((_SECCOMP_DEFAULT, False), (_SECCOMP_ALLOWED, True)):
        value = notes.get(key)
        for profile in (value.split(",") if several else (value,)) if value else ():
            if not several or profile != _ALL:
                yield from validate_seccomp_note(behaviour, f"metadata.annotations[{key}]", profile)


def _shown(ranges: Sequence[Object] | None) -> Shown:
    if ranges is None:
        return Shown("[]policy.IDRange(nil)")
    each = (f"policy.IDRange{{Min:{one.get('min') or 0}, Max:{one.get('max') or 0}}}" for one in ranges)
    return Shown(f"[]policy.IDRange{{{', '.join(each)}}}")


def _needs_ranges(behaviour: ServedBehaviour, strategy: Object) -> Sequence[FieldError]:
    return (invalid_value(".ranges", _shown(strategy.get("ranges")), "must provide at least one range"),)


def _is_reversed(range_: Object) -> bool:
    return (range_.get("min") or 0) > (range_.get("max") or 0)


_RANGES: Final = row(
    "ranges[]",
    row("min", must.hold(lambda low: low >= 0, "min cannot be negative")),
    row("max", must.hold(lambda high: high >= 0, "max cannot be negative")),
    row("min", must.be_otherwise("min cannot be greater than max"), when=_is_reversed, zero=0),
)


def _rule(*choices: str) -> Row:
    return row("rule", must.be_one_of(*choices), zero="")


_LIMITED: Final = fields.equal("rule", "MustRunAs", "MayRunAs")
_ANY_OR_SOME: Final = (_rule("MayRunAs", "MustRunAs", "RunAsAny"), _RANGES)
_IDENTIFIERS: Final = table(
    row("runAsUser", _rule("MustRunAs", "MustRunAsNonRoot", "RunAsAny"), _RANGES, zero={}),
    row(
        "runAsGroup",
        _rule("MustRunAs", "RunAsAny", "MayRunAs"),
        row(
            "ranges",
            must.be_otherwise("Ranges must be empty", _shown),
            when=lambda strategy: strategy.get("rule") == "RunAsAny" and strategy["ranges"],
        ),
        row("", _needs_ranges, when=lambda strategy: _LIMITED(strategy) and not strategy.get("ranges")),
        row("", table(_RANGES), when=_LIMITED),
    ),
    row("seLinux", _rule("MustRunAs", "RunAsAny"), zero={}),
    row("supplementalGroups", *_ANY_OR_SOME, zero={}),
    row("fsGroup", *_ANY_OR_SOME, zero={}),
)


def _validate_volumes(spec: Object, *, with_ephemeral: bool) -> Errors:
    choices = sorted([_ALL, *(each for each in VOLUME_TYPES if with_ephemeral or each != _EPHEMERAL)])
    for each in spec.get("volumes") or ():
        if each not in choices:
            yield unsupported("spec.volumes", each, choices)


def _validate_capabilities(spec: Object) -> Errors:
    drops, allowed = spec.get("requiredDropCapabilities") or (), spec.get("allowedCapabilities") or ()
    if drops and _ALL in allowed:
        text = "must be empty when all capabilities are allowed by a wildcard"
        yield invalid_value("requiredDropCapabilities", texts(drops, "core.Capability"), text)
    for name in ("defaultAddCapabilities", "allowedCapabilities"):
        for each in spec.get(name) or ():
            if each in drops:
                yield invalid_value(name, each, f"capability is listed in {name} and requiredDropCapabilities")


_ESCALATION: Final = (
    "Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true"
)
_FLAGS: Final = table(
    row(
        "defaultAllowPrivilegeEscalation",
        must.hold(lambda allows: not allows, _ESCALATION),
        unless=fields.given("allowPrivilegeEscalation"),
    ),
    row("allowedProcMountTypes[]", must.be_one_of("Default", "Unmasked")),
)


def _validate_paths(spec: Object) -> Errors:
    for index, each in enumerate(spec.get("allowedHostPaths") or ()):
        prefix = each.get("pathPrefix") or ""
        if not prefix:
            yield required(f"spec.allowedHostPaths[{index}]", "is required")
            break
        if ".." in prefix.split("/"):
            yield invalid_value(f"spec.allowedHostPaths[{index}]", prefix, "must not contain '..'")


_DRIVERS: Final = table(
    row(
        "allowedFlexVolumes[]",
        row("driver", must.be_given("must specify a driver")),
        told="allowedFlexVolumes.allowedFlexVolumes",
    ),
    row("allowedCSIDrivers[]", row("name", DRIVER, zero=""), told="allowedCSIDrivers.allowedCSIDriver"),
)


def _validate_sysctls(spec: Object) -> Errors:
    for name in ("allowedUnsafeSysctls", "forbiddenSysctls"):
        yield from _validate_patterns(f"spec.{name}", spec.get(name) or ())
    for index, allowed in enumerate(spec.get("allowedUnsafeSysctls") or ()):
        for place, refused in enumerate(spec.get("forbiddenSysctls") or ()):
            if _covers(refused, allowed):
                text = f"sysctl overlaps with {refused}"
                yield invalid_value(f"spec.allowedUnsafeSysctls[{index}]", allowed, text)
            elif _covers(allowed, refused):
                yield invalid_value(f"spec.forbiddenSysctls[{place}]", refused, f"sysctl overlaps with {allowed}")


def _covers(pattern: str, other: str) -> bool:
    """True if a pattern stands for all that the other does."""
    return other.removesuffix(_ALL).startswith(pattern[:-1]) if pattern.endswith(_ALL) else pattern == other


def _validate_patterns(path: str, patterns: Sequence[str]) -> Errors:
    covers_all = False
    for index, each in enumerate(patterns):
        if not each:
            yield invalid_value(f"{path}[{index}]", each, "empty sysctl not allowed")
        elif len(each) > _LONGEST_SYSCTL or not _SYSCTLS_RE.fullmatch(each):
            text = f"must have at most {_LONGEST_SYSCTL} characters and match regex {_SYSCTLS}"
            yield invalid_value(f"{path}[{index}]", each, text)
        else:
            covers_all = covers_all or each.startswith(_ALL)
    if covers_all and len(patterns) > 1:
        yield forbidden_field(f"{path}.items", "if '*' is present, must not specify other sysctls")


def _class_texts(name: str) -> Sequence[Text]:
    return () if name == _ALL else dns_subdomain(name)


def _validate_default(behaviour: ServedBehaviour, path: str, strategy: Object) -> Errors:
    default, names = strategy.get("defaultRuntimeClassName"), strategy.get("allowedRuntimeClassNames") or ()
    if default is not None and default not in names and _ALL not in names:
        yield required(f"{path}.allowedRuntimeClassNames", f"default {quoted(default)} must be allowed")


_CLASSES: Final = row(
    "runtimeClass",
    table(
        row("allowedRuntimeClassNames[]", must.be(_class_texts), distinct()),
        row("defaultRuntimeClassName", must.be(dns_subdomain), empty=True),
        by(_validate_default),
        row(
            "allowedRuntimeClassNames",
            must.hold(
                lambda names: _ALL not in names or len(names) == 1,
                "if '*' is present, must not specify other RuntimeClass names",
                texts,
            ),
        ),
    ),
)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        "true" if spec.get("privileged") else "false",
        ",".join(spec.get("allowedCapabilities") or ()),
        *((spec.get(name) or {}).get("rule") or "" for name in ("seLinux", "runAsUser", "fsGroup")),
        (spec.get("supplementalGroups") or {}).get("rule") or "",
        bool(spec.get("readOnlyRootFilesystem")),
        ",".join(spec.get("volumes") or ()),
    ]


STRATEGIES: Final = {
    "PodDisruptionBudget": Strategy(
        metadata_checks=MetadataChecks((), part=()),
        checks_new_metadata=False,
        unqualified_finalizers=True,
        validate_name=path_segment,
        prepare=prepared(spec=True, status=dict.fromkeys(_COUNTS, 0)),
        validate=validation(
            row(
                "spec",
                row("", must.be_otherwise("minAvailable and maxUnavailable cannot be both set", _SHOWN), when=_BOTH),
                row("minAvailable", _AMOUNT),
                row("maxUnavailable", _AMOUNT),
                row("selector", LABEL_SELECTOR),
                row("unhealthyPodEvictionPolicy", must.be_one_of("AlwaysAllow", "IfHealthyBudget"), empty=True),
            )
        ),
        raises_generation=spec_differs,
        print_row=columns(*map(_bound, _BOUNDS), number("status.disruptionsAllowed")),
        subresources={"status": Subresource(keep_all_but_status, _STATUS)},
        allow_unconditional_update=False,
    ),
    "PodSecurityPolicy": Strategy(default=_default, validate=_validate, print_row=_row, return_deleted_object=True),
}
