"""The least object of every built-in kind that does not run pods."""

from __future__ import annotations

from simkit.meta.objects import Draft

# A request that is well, for nobody: subject "carol" of "devs", signed with its own key.
REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIYU1JR0JBZ0VBTUI4eERUQUxCZ05WQkFvTUJHUmxkbk14RGpBTUJnTlZC"
    "QU1NQldOaGNtOXNNRmt3RXdZSApLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFVHlnU1VxK01zSEJ3cFRpd3N6RWhyajhHY1FEakFWRlZ0"
    "ckhhClNMWVZsQXR5TWNnZjdLbFl6cC9kMzV0WTJoclNzN0F0OGdhWWNvRC9RU2IzdXhWL0VhQUFNQW9HQ0NxR1NNNDkKQkFNQ0EwZ0FNRVVD"
    "SURLcGxrV2NZVzg3bndFcG8wWS9rUGhEeVZIalZiYzJUYmlTNWZ4eGtXV3pBaUVBamZDZApVbUZNZDZBdVdkdjR5SVk3azFwbXkwaVR6bVpk"
    "T3ZxNjk2ellZWlE9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
)
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
_HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://a.example.com"},
    "rules": [_RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_ADMISSION = "admissionregistration.k8s.io/v1"
_FLOW = "flowcontrol.apiserver.k8s.io/v1"
_FLOW_RULE = {
    "subjects": [{"kind": "User", "user": {"name": "ann"}}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_BACKEND = {"service": {"name": "a", "port": {"number": 80}}}

BASES: dict[str, Draft] = {
    "v1/ConfigMap": {"data": {"a": "1"}},
    "v1/Secret": {"stringData": {"a": "1"}},
    "v1/ServiceAccount": {},
    "v1/Service": {"spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}},
    "v1/Endpoints": {"subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]},
    "v1/Event": {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "n"}, "reason": "R", "message": "m"},
    "v1/LimitRange": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}},
    "v1/ResourceQuota": {"spec": {"hard": {"pods": "5"}}},
    "v1/Namespace": {},
    "v1/Node": {},
    "v1/PersistentVolume": {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "s", "path": "/p"},
        }
    },
    "v1/PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "discovery.k8s.io/v1/EndpointSlice": {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["192.0.2.1"]}],
        "ports": [{"port": 80}],
    },
    "networking.k8s.io/v1/Ingress": {"spec": {"defaultBackend": _BACKEND}},
    "networking.k8s.io/v1/IngressClass": {"spec": {"controller": "example.com/a"}},
    "networking.k8s.io/v1/NetworkPolicy": {"spec": {"podSelector": {}}},
    "policy/v1/PodDisruptionBudget": {"spec": {"minAvailable": 1}},
    "autoscaling/v2/HorizontalPodAutoscaler": {
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}
    },
    "scheduling.k8s.io/v1/PriorityClass": {"value": 5},
    "coordination.k8s.io/v1/Lease": {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}},
    "storage.k8s.io/v1/StorageClass": {"provisioner": "example.com/d"},
    "storage.k8s.io/v1/VolumeAttachment": {
        "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    },
    "storage.k8s.io/v1/CSIDriver": {"spec": {}},
    "storage.k8s.io/v1/CSINode": {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}},
    "storage.k8s.io/v1/CSIStorageCapacity": {"storageClassName": "a", "capacity": "1Gi"},
    "storage.k8s.io/v1alpha1/VolumeAttributesClass": {"driverName": "d", "parameters": {"a": "b"}},
    "certificates.k8s.io/v1/CertificateSigningRequest": {
        "spec": {"request": REQUEST, "signerName": "example.com/signer", "usages": ["client auth"]}
    },
    "certificates.k8s.io/v1alpha1/ClusterTrustBundle": {"spec": {"trustBundle": ""}},
    f"{_ADMISSION}/ValidatingWebhookConfiguration": {"webhooks": [_HOOK]},
    f"{_ADMISSION}/MutatingWebhookConfiguration": {"webhooks": [_HOOK]},
    f"{_ADMISSION}/ValidatingAdmissionPolicy": {
        "spec": {"matchConstraints": {"resourceRules": [_RULE]}, "validations": [{"expression": "true"}]}
    },
    f"{_ADMISSION}/ValidatingAdmissionPolicyBinding": {"spec": {"policyName": "p", "validationActions": ["Deny"]}},
    f"{_FLOW}/FlowSchema": {"spec": {"priorityLevelConfiguration": {"name": "a"}, "rules": [_FLOW_RULE]}},
    f"{_FLOW}/PriorityLevelConfiguration": {
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    },
    "node.k8s.io/v1/RuntimeClass": {"handler": "runc"},
    "apiregistration.k8s.io/v1/APIService": {
        "metadata": {"name": "v1.a.example.com"},
        "spec": {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10},
    },
}
UNWELL = {"certificates.k8s.io/v1alpha1/ClusterTrustBundle"}
"""Kinds whose least object here is not well: it would need a certificate."""
