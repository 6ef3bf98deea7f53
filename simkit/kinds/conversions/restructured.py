"""Conversions of kinds whose versions differ in more than moved fields.

CertificateSigningRequest: v1beta1 has defaults for signer, usages and condition status; v1 requires them.
CustomResourceDefinition: v1beta1 may have properties for all versions, v1 has them for each. Workloads: older versions
have more defaults.

Follows ``conversion.go`` and ``defaults.go`` of ``pkg/apis/certificates/v1beta1``, ``pkg/apis/apps`` and
``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1``, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.kinds.conversions.family import (
    SAME_FIELDS,
    ConversionError,
    Family,
    Spoke,
    Step,
    annotate,
    default,
    entries,
    peek,
    pick,
    rename,
    section,
    take_annotation,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.certificate_errors import unreadable
from simkit.meta.domain import CERTIFICATES_GROUP, EXTENSIONS_GROUP, label
from simkit.meta.go_number import parse_int
from simkit.meta.objects import Draft, annotations_of

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest


NODE_CLIENT: Final = label("kube-apiserver-client-kubelet")
NODE_SERVING: Final = label("kubelet-serving")
UNKNOWN: Final = label("legacy-unknown")
_NODE_GROUP: Final = "system:nodes"
_NODE_PREFIX: Final = "system:node:"
_SIGNS: Final = "digital signature"
_KEYS: Final = "key encipherment"


def default_signer(spec: Mapping[str, Any]) -> str:
    """The signer for the request's content: of kubelet clients, of kubelet servers, or the legacy one."""
    from cryptography.x509 import load_pem_x509_csr

    try:
        request = load_pem_x509_csr(base64.b64decode(spec.get("request") or "", validate=True))
        is_node, names = _is_node(request), _names(request)
    except unreadable():  # validation tells why
        return UNKNOWN
    usages = frozenset(spec.get("usages") or ())
    if not is_node or names.get("email") or names.get("uri"):
        return UNKNOWN
    serves = bool(names.get("dns") or names.get("ip"))
    purpose = "server auth" if serves else "client auth"
    if usages not in ({_SIGNS, purpose}, {_SIGNS, _KEYS, purpose}):
        return UNKNOWN
    return NODE_SERVING if serves else NODE_CLIENT


def _is_node(request: CertificateSigningRequest) -> bool:
    from cryptography.x509.oid import NameOID

    groups = [each.value for each in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    names = [str(each.value) for each in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return groups == [_NODE_GROUP] and bool(names) and names[-1].startswith(_NODE_PREFIX)


def _names(request: CertificateSigningRequest) -> Mapping[str, int]:
    """The number of alternative names of each sort in the request."""
    from cryptography import x509

    try:
        found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return {}
    return {
        "dns": len(found.get_values_for_type(x509.DNSName)),
        "ip": len(found.get_values_for_type(x509.IPAddress)),
        "email": len(found.get_values_for_type(x509.RFC822Name)),
        "uri": len(found.get_values_for_type(x509.UniformResourceIdentifier)),
    }


def _default_certificatesigningrequest(draft: Draft) -> None:
    spec = section(draft, "spec")
    if spec.get("usages") is None:
        spec["usages"] = [_SIGNS, _KEYS]
    if not spec.get("signerName"):
        spec["signerName"] = default_signer(spec)
    for condition in entries(peek(draft, "status"), "conditions"):
        if not condition.get("status"):
            condition["status"] = "True"


_SHARED: Final = (
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)
"""The common properties of v1beta1, and their names in a version."""
_REVIEW_VERSIONS: Final = "conversionReviewVersions"


def _default_customresourcedefinition(draft: Draft) -> None:
    spec = section(draft, "spec")
    default(spec, "scope", "Namespaced")
    default(spec, "preserveUnknownFields", True)
    if not spec.get("versions") and spec.get("version"):
        spec["versions"] = [{"name": spec["version"], "served": True, "storage": True}]
    _default_names(spec)
    _default_stored(draft)
    conversion = section(spec, "conversion")
    default(conversion, "strategy", "None")
    if conversion["strategy"] == "Webhook" and not conversion.get(_REVIEW_VERSIONS):
        conversion[_REVIEW_VERSIONS] = ["v1beta1"]


def _default_names(spec: Draft) -> None:
    names = section(spec, "names")
    kind = names.get("kind") or ""
    default(names, "singular", kind.lower())
    if kind:
        default(names, "listKind", f"{kind}List")


def _default_stored(draft: Draft) -> None:
    """Set the stored versions if the status has none."""
    status = section(draft, "status")
    if not status.get("storedVersions"):
        versions = entries(peek(draft, "spec"), "versions")
        status["storedVersions"] = [version.get("name", "") for version in versions if version.get("storage")]


def _columns(spec: Draft) -> Iterator[Draft]:
    yield from entries(spec, "additionalPrinterColumns")
    for version in entries(spec, "versions"):
        yield from entries(version, "additionalPrinterColumns")


def _to_hub(draft: Draft) -> None:
    spec = section(draft, "spec")
    for column in _columns(spec):
        rename(column, "JSONPath", "jsonPath")
    spec.pop("version", None)
    for top, name in _SHARED:
        shared = spec.pop(top, None)
        for version in entries(spec, "versions"):
            if shared is not None and version.get(name) is None:
                version[name] = shared
    _webhook_to_hub(spec.get("conversion") or {})


def _webhook_to_hub(conversion: Draft) -> None:
    webhook = {}
    if "webhookClientConfig" in conversion:
        webhook["clientConfig"] = conversion.pop("webhookClientConfig")
    if _REVIEW_VERSIONS in conversion:
        webhook[_REVIEW_VERSIONS] = conversion.pop(_REVIEW_VERSIONS)
    if webhook:
        conversion["webhook"] = webhook


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = section(draft, "spec")
    versions = list(entries(spec, "versions"))
    if versions:
        spec["version"] = versions[0].get("name", "")
    for top, name in _SHARED:
        _lift(spec, versions, top, name)
    for column in _columns(spec):
        rename(column, "jsonPath", "JSONPath")
    spec.setdefault("preserveUnknownFields", False)
    conversion = peek(spec, "conversion")
    webhook = conversion.pop("webhook", None) or {}
    rename(webhook, "clientConfig", "webhookClientConfig")
    conversion.update(pick(webhook, "webhookClientConfig", _REVIEW_VERSIONS))


def _lift(spec: Draft, versions: list[dict[str, Any]], top: str, name: str) -> None:
    """Move properties that all versions share to the top."""
    first = versions[0].get(name) if versions else None
    if first is not None and all(version.get(name) == first for version in versions):
        spec[top] = first
        for version in versions:
            del version[name]


ROLLBACK: Final = "deprecated.deployment.rollback.to"
GENERATION: Final = "deprecated.daemonset.template.generation"
UNLIMITED: Final = 2**31 - 1
_OLDEST, _OLD, _NEXT, _HUB = "extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "apps/v1"


def _named_by_template(draft: Draft) -> None:
    """Copy labels and selector from the pod template, if the object has none."""
    spec = section(draft, "spec")
    labels = peek(spec, "template", "metadata").get("labels")
    if not labels:
        return
    if spec.get("selector") is None:
        spec["selector"] = {"matchLabels": dict(labels)}
    metadata = section(draft, "metadata")
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def _on_delete(draft: Draft) -> None:
    """Set the update strategy OnDelete by default."""
    _named_by_template(draft)
    default(section(draft, "spec", "updateStrategy"), "type", "OnDelete")


# Deployments


def _deployment_defaults(bound: int | str, deadline: int, history: int) -> Step:
    def apply(draft: Draft) -> None:
        _named_by_template(draft)
        spec = section(draft, "spec")
        default(spec, "progressDeadlineSeconds", deadline)
        default(spec, "revisionHistoryLimit", history)
        strategy = section(spec, "strategy")
        default(strategy, "type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = section(strategy, "rollingUpdate")
            default(rolling, "maxUnavailable", bound)
            default(rolling, "maxSurge", bound)

    return apply


def _number(draft: Draft, key: str) -> int | None:
    """The number in an annotation. Raises ConversionError if it is none, as kube-apiserver does."""
    text = annotations_of(draft).get(key)
    if text is None:
        return None
    try:
        return parse_int(text)
    except ValueError as error:
        raise ConversionError(f"failed to parse annotation[{key}]={text} as int64: {error}") from None


def _check_rollback(draft: Draft) -> None:
    _number(draft, ROLLBACK)


def _rollback_to_hub(draft: Draft) -> None:
    wanted = peek(draft, "spec").pop("rollbackTo", None)
    if wanted is not None:
        annotate(draft, ROLLBACK, str(wanted.get("revision") or 0))


def _rollback_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    revision = _number(draft, ROLLBACK)
    if revision is not None:
        take_annotation(draft, ROLLBACK)
        section(draft, "spec")["rollbackTo"] = {"revision": revision} if revision else {}


# Daemon sets


def _generation_to_hub(draft: Draft) -> None:
    annotate(draft, GENERATION, str(peek(draft, "spec").pop("templateGeneration", 0) or 0))


def _generation_from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    generation = _number(draft, GENERATION)
    take_annotation(draft, GENERATION)
    if generation:
        section(draft, "spec")["templateGeneration"] = generation


def _check_generation(draft: Draft) -> None:
    annotate(draft, GENERATION, str(_number(draft, GENERATION) or 0))


# Stateful sets


def _typed_claims(draft: Draft) -> None:
    """Set kind and apiVersion of claims in a template."""
    for claim in entries(peek(draft, "spec"), "volumeClaimTemplates"):
        default(claim, "apiVersion", "v1")
        default(claim, "kind", "PersistentVolumeClaim")


_EVERY: Final = (
    Family(
        "CertificateSigningRequest",
        f"{CERTIFICATES_GROUP}/v1",
        {f"{CERTIFICATES_GROUP}/v1beta1": Spoke(default=_default_certificatesigningrequest)},
    ),
    Family(
        "CustomResourceDefinition",
        f"{EXTENSIONS_GROUP}/v1",
        {f"{EXTENSIONS_GROUP}/v1beta1": Spoke(_to_hub, _from_hub, _default_customresourcedefinition)},
        Spoke(_default_stored),
    ),
    Family(
        "Deployment",
        _HUB,
        {
            _OLDEST: Spoke(_rollback_to_hub, _rollback_from_hub, _deployment_defaults(1, UNLIMITED, UNLIMITED)),
            _OLD: Spoke(_rollback_to_hub, _rollback_from_hub, _deployment_defaults("25%", 600, 2)),
            _NEXT: Spoke(_check_rollback),
        },
        Spoke(_check_rollback),
    ),
    Family(
        "DaemonSet",
        _HUB,
        {
            _OLDEST: Spoke(_generation_to_hub, _generation_from_hub, _on_delete),
            _NEXT: Spoke(_check_generation),
        },
        Spoke(_check_generation),
    ),
    Family(
        "StatefulSet",
        _HUB,
        {_OLD: Spoke(_typed_claims, default=_on_delete), _NEXT: Spoke(_typed_claims)},
        Spoke(_typed_claims),
    ),
    Family("ReplicaSet", _HUB, {_OLDEST: Spoke(default=_named_by_template), _NEXT: SAME_FIELDS}),
)
FAMILIES: Final = {family.kind: family for family in _EVERY}
