"""Validation of the resource claims of a pod, and of what its containers name of them.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simkit.kinds.parts.go_printing.structures import structure
from simkit.meta.domain import MIRROR_POD
from simkit.meta.fielderror import FieldError, duplicate, forbidden_field, invalid_value, missing, required
from simkit.meta.name_validation import dns_label, dns_subdomain
from simkit.meta.objects import Object, annotations_of


def claim_names(spec: Object) -> Sequence[str]:
    """The names of the claims of a pod spec, sorted."""
    claims = spec.get("resourceClaims")
    return sorted({one.get("name") or "" for one in claims}) if claims else ()


def validate_resource_claims(path: str, spec: Object, pod: Object | None) -> Iterator[FieldError]:
    """The errors of the resource claims of a pod spec; ``pod`` is None for a template."""
    names: set[str] = set()
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        if pod is not None and MIRROR_POD in annotations_of(pod):
            yield forbidden_field("", "static pods do not support resource claims")
        else:
            yield from _validate_claim(f"{path}[{index}]", claim, names)


def _validate_claim(path: str, claim: Object, names: set[str]) -> Iterator[FieldError]:
    name = claim.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    elif name in names:
        yield duplicate(f"{path}.name", name)
    else:
        yield from (invalid_value(f"{path}.name", name, text) for text in dns_label(name))
        names.add(name)
    sources = [each for each in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(each) is not None]
    if len(sources) != 1:
        one, other = "`resourceClaimName`", "`resourceClaimTemplateName`"
        none = f"must specify one of: {one}, {other}"
        text = f"at most one of {one} or {other} may be specified" if sources else none
        yield invalid_value(path, structure("core.PodResourceClaim", claim), text)
    for each in sources:
        yield from (invalid_value(f"{path}.{each}", claim[each], text) for text in dns_subdomain(claim[each]))


def validate_claim_references(path: str, claims: Sequence[Object], known: Sequence[str]) -> Iterator[FieldError]:
    """The errors of the claims that the resources of a container name, of those that the pod has."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            yield required(at)
            continue
        yield from _repeated(at, name, claim.get("request") or "", seen)
        if name not in known:
            listed = f": {', '.join(known)}" if known else " which is empty"
            yield missing(at, name, f"must be one of the names in pod.spec.resourceClaims{listed}")


def _repeated(path: str, name: str, request: str, seen: set[str]) -> Iterator[FieldError]:
    """A claim, or a request of one, that is named twice."""
    if name in seen:
        yield duplicate(path, name)
        return
    if request:
        yield from (invalid_value(f"{path}.request", request, text) for text in dns_label(request))
    key = f"{name}/{request}" if request else name
    if key in seen:
        yield duplicate(path, key)
    elif not request:
        yield from (duplicate(path, name) for each in seen if each.startswith(f"{name}/"))
    seen.add(key)
