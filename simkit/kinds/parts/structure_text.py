"""Structures as a refusal shows them whole: pod templates, flow schemas; references only as being there or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.amounts import shown
from simkit.kinds.parts.gotext import pointer, printed, text_map, texts
from simkit.meta.fielderror import Shown, quoted
from simkit.meta.objects import Object

_STRUCTURES: Final[Mapping[str, str]] = {
    "core.PodTemplateSpec": "metadata/ObjectMeta:v1.ObjectMeta Spec:core.PodSpec",
    "v1.ObjectMeta": (
        "Name GenerateName Namespace SelfLink uid/UID ResourceVersion Generation:int creationTimestamp:time "
        "deletionTimestamp:time? DeletionGracePeriodSeconds:*int64 Labels:map Annotations:map "
        "OwnerReferences:[]v1.OwnerReference Finalizers:texts ManagedFields:[]v1.ManagedFieldsEntry"
    ),
    "core.PodSpec": (
        "Volumes:[]core.Volume InitContainers:[]core.Container Containers:[]core.Container "
        "EphemeralContainers:[]core.EphemeralContainer RestartPolicy TerminationGracePeriodSeconds:*int64 "
        "ActiveDeadlineSeconds:*int64 dnsPolicy/DNSPolicy NodeSelector:map ServiceAccountName "
        "AutomountServiceAccountToken:*bool NodeName SecurityContext:*core.PodSecurityContext "
        "ImagePullSecrets:[]core.LocalObjectReference Hostname Subdomain SetHostnameAsFQDN:*bool "
        "Affinity:*core.Affinity SchedulerName Tolerations:[]core.Toleration HostAliases:[]core.HostAlias "
        "PriorityClassName Priority:*int32 PreemptionPolicy:*core.PreemptionPolicy "
        "dnsConfig/DNSConfig:*core.PodDNSConfig ReadinessGates:[]core.PodReadinessGate RuntimeClassName:*string "
        "Overhead:amounts EnableServiceLinks:*bool TopologySpreadConstraints:[]core.TopologySpreadConstraint "
        "os/OS:*core.PodOS SchedulingGates:[]core.PodSchedulingGate ResourceClaims:[]core.PodResourceClaim"
    ),
    "core.Container": (
        "Name Image Command:texts Args:texts WorkingDir Ports:[]core.ContainerPort EnvFrom:[]core.EnvFromSource "
        "Env:[]core.EnvVar Resources:core.ResourceRequirements ResizePolicy:[]core.ContainerResizePolicy "
        "RestartPolicy:*core.ContainerRestartPolicy VolumeMounts:[]core.VolumeMount "
        "VolumeDevices:[]core.VolumeDevice LivenessProbe:*core.Probe ReadinessProbe:*core.Probe "
        "StartupProbe:*core.Probe Lifecycle:*core.Lifecycle TerminationMessagePath TerminationMessagePolicy "
        "ImagePullPolicy SecurityContext:*core.SecurityContext Stdin:bool StdinOnce:bool tty/TTY:bool"
    ),
    "core.ContainerPort": "Name HostPort:int ContainerPort:int Protocol HostIP",
    "core.EnvVar": "Name Value ValueFrom:*core.EnvVarSource",
    "core.EnvFromSource": "Prefix ConfigMapRef:*core.ConfigMapEnvSource SecretRef:*core.SecretEnvSource",
    "core.ResourceRequirements": "Limits:amounts Requests:amounts Claims:[]core.ResourceClaim",
    "core.ResourceClaim": "Name",
    "core.ContainerResizePolicy": "ResourceName RestartPolicy",
    "core.VolumeMount": (
        "Name ReadOnly:bool RecursiveReadOnly:*core.RecursiveReadOnlyMode MountPath SubPath "
        "MountPropagation:*core.MountPropagationMode SubPathExpr"
    ),
    "core.VolumeDevice": "Name DevicePath",
    "core.NodeSelectorTerm": (
        "MatchExpressions:[]core.NodeSelectorRequirement MatchFields:[]core.NodeSelectorRequirement"
    ),
    "core.NodeSelectorRequirement": "Key Operator Values:texts",
    "core.Volume": "Name /VolumeSource:core.VolumeSource",
    "core.VolumeSource": (
        "HostPath:*core.HostPathVolumeSource EmptyDir:*core.EmptyDirVolumeSource "
        "gcePersistentDisk/GCEPersistentDisk:*core.GCEPersistentDiskVolumeSource "
        "awsElasticBlockStore/AWSElasticBlockStore:*core.AWSElasticBlockStoreVolumeSource "
        "GitRepo:*core.GitRepoVolumeSource Secret:*core.SecretVolumeSource nfs/NFS:*core.NFSVolumeSource "
        "iscsi/ISCSI:*core.ISCSIVolumeSource Glusterfs:*core.GlusterfsVolumeSource "
        "PersistentVolumeClaim:*core.PersistentVolumeClaimVolumeSource rbd/RBD:*core.RBDVolumeSource "
        "Quobyte:*core.QuobyteVolumeSource FlexVolume:*core.FlexVolumeSource Cinder:*core.CinderVolumeSource "
        "cephfs/CephFS:*core.CephFSVolumeSource Flocker:*core.FlockerVolumeSource "
        "DownwardAPI:*core.DownwardAPIVolumeSource fc/FC:*core.FCVolumeSource AzureFile:*core.AzureFileVolumeSource "
        "ConfigMap:*core.ConfigMapVolumeSource VsphereVolume:*core.VsphereVirtualDiskVolumeSource "
        "AzureDisk:*core.AzureDiskVolumeSource PhotonPersistentDisk:*core.PhotonPersistentDiskVolumeSource "
        "Projected:*core.ProjectedVolumeSource PortworxVolume:*core.PortworxVolumeSource "
        "ScaleIO:*core.ScaleIOVolumeSource storageos/StorageOS:*core.StorageOSVolumeSource "
        "csi/CSI:*core.CSIVolumeSource Ephemeral:*core.EphemeralVolumeSource"
    ),
    "core.LocalObjectReference": "Name",
    "core.Toleration": "Key Operator Value Effect TolerationSeconds:*int64",
    "core.HostAlias": "ip/IP Hostnames:texts",
    "core.PodReadinessGate": "ConditionType",
    "core.TopologySpreadConstraint": (
        "MaxSkew:int TopologyKey WhenUnsatisfiable LabelSelector:*v1.LabelSelector MinDomains:*int32 "
        "NodeAffinityPolicy:*core.NodeInclusionPolicy NodeTaintsPolicy:*core.NodeInclusionPolicy MatchLabelKeys:texts"
    ),
    "core.PodSchedulingGate": "Name",
    "core.PodResourceClaim": "Name Source:core.ClaimSource",
    "core.ClaimSource": "ResourceClaimName:*string ResourceClaimTemplateName:*string",
    "batch.PodFailurePolicy": "Rules:[]batch.PodFailurePolicyRule",
    "batch.PodFailurePolicyRule": (
        "Action OnExitCodes:*batch.PodFailurePolicyOnExitCodesRequirement "
        "OnPodConditions:[]batch.PodFailurePolicyOnPodConditionsPattern"
    ),
    "batch.PodFailurePolicyOnPodConditionsPattern": "Type Status",
    "flowcontrol.FlowSchemaSpec": (
        "PriorityLevelConfiguration:flowcontrol.PriorityLevelConfigurationReference MatchingPrecedence:int "
        "DistinguisherMethod:*flowcontrol.FlowDistinguisherMethod Rules:[]flowcontrol.PolicyRulesWithSubjects"
    ),
    "flowcontrol.PriorityLevelConfigurationReference": "Name",
    "flowcontrol.PolicyRulesWithSubjects": (
        "Subjects:[]flowcontrol.Subject ResourceRules:[]flowcontrol.ResourcePolicyRule "
        "NonResourceRules:[]flowcontrol.NonResourcePolicyRule"
    ),
    "flowcontrol.Subject": (
        "Kind User:*flowcontrol.UserSubject Group:*flowcontrol.GroupSubject "
        "ServiceAccount:*flowcontrol.ServiceAccountSubject"
    ),
    "flowcontrol.ResourcePolicyRule": (
        "Verbs:texts apiGroups/APIGroups:texts Resources:texts ClusterScope:bool Namespaces:texts"
    ),
    "flowcontrol.NonResourcePolicyRule": "Verbs:texts nonResourceURLs/NonResourceURLs:texts",
    "flowcontrol.PriorityLevelConfigurationSpec": (
        "Type Limited:*flowcontrol.LimitedPriorityLevelConfiguration "
        "Exempt:*flowcontrol.ExemptPriorityLevelConfiguration"
    ),
}
"""Fields in their order as ``json/Name:type``: texts where no type is told, the name in JSON where it is another one.
A field without a name in JSON holds its parts beside the others."""
_NEVER: Final = "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"


def template_text(template: Object) -> Shown:
    """A pod template."""
    return structure("core.PodTemplateSpec", template)


def structures(kind: str, values: Sequence[Object] | None) -> Shown:
    """A list of structures of a known type."""
    return Shown(_text(f"[]{kind}", values))


def structure(kind: str, value: Object) -> Shown:
    """A structure of a known type."""
    fields = ", ".join(_field(part, value) for part in _STRUCTURES[kind].split(" "))
    return Shown(f"{kind}{{{fields}}}")


def _field(part: str, holder: Object) -> str:
    named, _, kind = part.partition(":")
    key, slash, name = named.partition("/")
    if not slash:
        key, name = f"{named[0].lower()}{named[1:]}", f"{named[0].upper()}{named[1:]}"
    return f"{name}:{_text(kind, holder if slash and not key else holder.get(key))}"


def _text(kind: str, value: Any) -> str:
    if kind.startswith("*"):
        return pointer(kind[1:], value)
    if kind.startswith("[]"):
        listed = ", ".join(structure(kind[2:], one).text for one in value or ())
        return f"{kind}(nil)" if value is None else f"{kind}{{{listed}}}"
    if kind in _STRUCTURES:
        return structure(kind, value or {}).text
    return _PLAIN[kind](value)


def _amounts(value: Mapping[str, str] | None) -> str:
    if value is None:
        return "core.ResourceList(nil)"
    listed = ", ".join(f"{quoted(name)}:{shown(value[name]).text}" for name in sorted(value))
    return f"core.ResourceList{{{listed}}}"


_PLAIN: Final[Mapping[str, Callable[[Any], str]]] = {
    "": lambda value: printed(value or ""),
    "int": lambda value: str(value or 0),
    "bool": lambda value: printed(bool(value)),
    "map": lambda value: text_map(value).text,
    "texts": lambda value: texts(value).text,
    "amounts": _amounts,
    "time": lambda _: _NEVER,
    "time?": lambda _: "<nil>",
}
