"""Names under the domains of Kubernetes."""

from __future__ import annotations

from typing import Final

API_DOMAIN: Final = "k8s.io"
LABEL_DOMAIN: Final = "kubernetes.io"
SYSTEM_NAMESPACE: Final = "kube-system"
PUBLIC_NAMESPACE: Final = "kube-public"
NODE_LEASE_NAMESPACE: Final = "kube-node-lease"
DEFAULT_NAMESPACE: Final = "default"
PROTOBUF_MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"


def api_group(prefix: str) -> str:
    """The full name of one of the project's own groups: ``api_group("storage")`` is ``storage.<domain>``."""
    return f"{prefix}.{API_DOMAIN}"


def label(name: str, prefix: str = "") -> str:
    """A label, annotation or type key under the label domain, with an optional sub-domain in front."""
    return f"{prefix}.{LABEL_DOMAIN}/{name}" if prefix else f"{LABEL_DOMAIN}/{name}"


RBAC_GROUP: Final = api_group("rbac.authorization")
AUTHORIZATION_GROUP: Final = api_group("authorization")
AUTHENTICATION_GROUP: Final = api_group("authentication")
REGISTRATION_GROUP: Final = api_group("apiregistration")
EXTENSIONS_GROUP: Final = api_group("apiextensions")
META_GROUP: Final = api_group("meta")
EVENTS_GROUP: Final = api_group("events")
CERTIFICATES_GROUP: Final = api_group("certificates")
ADMISSION_GROUP: Final = api_group("admissionregistration")
"""Groups that code must name. Groups that only data names stay in the data."""
LAST_APPLIED: Final = label("last-applied-configuration", "kubectl")
"""The annotation in which ``kubectl apply`` keeps what was applied."""
MIRROR_POD: Final = label("config.mirror")
"""The annotation of pods that a kubelet runs from a file."""
NAMESPACE_FINALIZER: Final = "kubernetes"
"""The finalizer that keeps a namespace until it is empty."""
API_SERVER: Final = "kube-apiserver"
"""The user agent, and so the field manager, of the server's own writes."""
