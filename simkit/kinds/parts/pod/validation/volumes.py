"""Validation of the volumes of a pod: names, exactly one source each, and the source.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.kinds.parts.pod.validation.volume_sources import CHECKED_AT, REFUSED_AT, SOURCES
from simkit.kinds.parts.volume.claim_template import validate_claim_template
from simkit.meta.fielderror import FieldError, duplicate, forbidden_field, invalid_value, quoted, required
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object, name_of

_LONGEST_PORTAL: Final = 64
_PORTAL_RULE: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)


def validate_volumes(path: str, spec: Object, pod: Object | None) -> tuple[list[FieldError], Mapping[str, Object]]:
    """The errors of the volumes, and the valid volumes by name: only those can be mounted.

    ``pod`` is the object that the spec is of; None for a template.
    """
    errors: list[FieldError] = []
    well: dict[str, Object] = {}
    volumes = spec.get("volumes") or ()
    claims = _created_claims(spec, pod)
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        volume_errors = [
            *_validate_source(at, volume, pod),
            *_validate_name(f"{at}.name", volume.get("name") or "", well),
        ]
        if not volume_errors:
            well[volume["name"]] = volume
        errors += volume_errors
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in claims:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid_value(f"{at}.persistentVolumeClaim.claimName", claim, text))
    return errors, well


def _created_claims(spec: Object, pod: Object | None) -> set[str]:
    if pod is None or not name_of(pod):
        return set()
    return {f"{name_of(pod)}-{one.get('name')}" for one in spec.get("volumes") or () if "ephemeral" in one}


def _validate_name(path: str, name: str, well: Mapping[str, Object]) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    else:
        yield from (invalid_value(path, name, text) for text in dns_label(name))
    if name in well:
        yield duplicate(path, name)


def _validate_source(path: str, volume: Object, pod: Object | None) -> Iterator[FieldError]:
    count = 0
    for name in [name for name in SOURCES if name in volume]:
        source = volume[name]
        if source is None:
            continue
        if count:
            yield forbidden_field(f"{path}.{REFUSED_AT.get(name, name)}", "may not specify more than 1 volume type")
            continue
        count += 1
        if name == "image" and pod is not None and not source.get("reference"):
            yield required(f"{path}.image.reference")
        yield from SOURCES[name](f"{path}.{CHECKED_AT.get(name, name)}", source)
        if name == "iscsi":
            yield from _validate_portal(f"{path}.name", volume.get("name") or "", source)
        elif name == "ephemeral":
            yield from _validate_ephemeral(path, volume, source, pod)
    if not count:
        yield required(path, "must specify a volume type")


def _validate_portal(path: str, name: str, source: Object) -> Iterator[FieldError]:
    portal = f"{name}:{source.get('targetPortal') or ''}"
    if source.get("initiatorName") is not None and len(portal) > _LONGEST_PORTAL:
        yield invalid_value(path, name, _PORTAL_RULE)


def _validate_ephemeral(path: str, volume: Object, source: Object, pod: Object | None) -> Iterator[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.ephemeral.volumeClaimTemplate")
    else:
        yield from validate_claim_template(f"{path}.ephemeral.volumeClaimTemplate", template)
    name = volume.get("name") or ""
    if pod is not None and name_of(pod) and name:
        claim = f"{name_of(pod)}-{name}"
        yield from (
            invalid_value(f"{path}.name", name, f"PVC name {quoted(claim)}: {text}") for text in dns_subdomain(claim)
        )
