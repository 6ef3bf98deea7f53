"""Go types that error messages print: their fields in declaration order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

_TABLE: Final[Mapping[str, str]] = {
    "core.PodTemplateSpec": "metadata/ObjectMeta:v1.ObjectMeta Spec:core.PodSpec",
    "v1.ObjectMeta": (
        "Name GenerateName Namespace SelfLink uid/UID ResourceVersion Generation:int creationTimestamp:time "
        "deletionTimestamp:time? DeletionGracePeriodSeconds:*int64 Labels:map Annotations:map "
        "OwnerReferences:[]v1.OwnerReference Finalizers:texts ManagedFields:[]v1.ManagedFieldsEntry"
    ),
    "v1.OwnerReference": "apiVersion/APIVersion Kind Name uid/UID Controller:*bool BlockOwnerDeletion:*bool",
    "v1.ManagedFieldsEntry": (
        "Manager Operation apiVersion/APIVersion Time:time FieldsType FieldsV1:*v1.FieldsV1 Subresource"
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
    "batch.SuccessPolicy": "Rules:[]batch.SuccessPolicyRule",
    "batch.SuccessPolicyRule": "SucceededIndexes:*string SucceededCount:*int32",
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
    "core.EphemeralContainer": "/EphemeralContainerCommon:core.EphemeralContainerCommon TargetContainerName",
    "core.EnvVarSource": (
        "FieldRef:*core.ObjectFieldSelector ResourceFieldRef:*core.ResourceFieldSelector "
        "ConfigMapKeyRef:*core.ConfigMapKeySelector SecretKeyRef:*core.SecretKeySelector"
    ),
    "core.ObjectFieldSelector": "apiVersion/APIVersion FieldPath",
    "core.ResourceFieldSelector": "ContainerName Resource Divisor:quantity",
    "core.ConfigMapKeySelector": "/LocalObjectReference:core.LocalObjectReference Key Optional:*bool",
    "core.SecretKeySelector": "/LocalObjectReference:core.LocalObjectReference Key Optional:*bool",
    "core.ConfigMapEnvSource": "/LocalObjectReference:core.LocalObjectReference Optional:*bool",
    "core.SecretEnvSource": "/LocalObjectReference:core.LocalObjectReference Optional:*bool",
    "core.Probe": (
        "/ProbeHandler:core.ProbeHandler InitialDelaySeconds:int TimeoutSeconds:int PeriodSeconds:int "
        "SuccessThreshold:int FailureThreshold:int TerminationGracePeriodSeconds:*int64"
    ),
    "core.ProbeHandler": (
        "Exec:*core.ExecAction httpGet/HTTPGet:*core.HTTPGetAction tcpSocket/TCPSocket:*core.TCPSocketAction "
        "grpc/GRPC:*core.GRPCAction"
    ),
    "core.ExecAction": "Command:texts",
    "core.HTTPGetAction": "Path Port:intstr.IntOrString Host Scheme httpHeaders/HTTPHeaders:[]core.HTTPHeader",
    "core.HTTPHeader": "Name Value",
    "core.TCPSocketAction": "Port:intstr.IntOrString Host",
    "core.GRPCAction": "Port:int Service:*string",
    "core.Lifecycle": "PostStart:*core.LifecycleHandler PreStop:*core.LifecycleHandler",
    "core.LifecycleHandler": (
        "Exec:*core.ExecAction httpGet/HTTPGet:*core.HTTPGetAction tcpSocket/TCPSocket:*core.TCPSocketAction "
        "Sleep:*core.SleepAction"
    ),
    "core.SleepAction": "Seconds:int",
    "core.SecurityContext": (
        "Capabilities:*core.Capabilities Privileged:*bool seLinuxOptions/SELinuxOptions:*core.SELinuxOptions "
        "WindowsOptions:*core.WindowsSecurityContextOptions RunAsUser:*int64 RunAsGroup:*int64 RunAsNonRoot:*bool "
        "ReadOnlyRootFilesystem:*bool AllowPrivilegeEscalation:*bool ProcMount:*core.ProcMountType "
        "SeccompProfile:*core.SeccompProfile AppArmorProfile:*core.AppArmorProfile"
    ),
    "core.PodSecurityContext": (
        "HostNetwork:bool hostPID/HostPID:bool hostIPC/HostIPC:bool ShareProcessNamespace:*bool HostUsers:*bool "
        "seLinuxOptions/SELinuxOptions:*core.SELinuxOptions WindowsOptions:*core.WindowsSecurityContextOptions "
        "RunAsUser:*int64 RunAsGroup:*int64 RunAsNonRoot:*bool SupplementalGroups:[]int64 fsGroup/FSGroup:*int64 "
        "fsGroupChangePolicy/FSGroupChangePolicy:*core.PodFSGroupChangePolicy Sysctls:[]core.Sysctl "
        "SeccompProfile:*core.SeccompProfile AppArmorProfile:*core.AppArmorProfile"
    ),
    "core.Capabilities": "Add:[]core.Capability Drop:[]core.Capability",
    "core.SELinuxOptions": "User Role Type Level",
    "core.SeccompProfile": "Type LocalhostProfile:*string",
    "core.AppArmorProfile": "Type LocalhostProfile:*string",
    "core.WindowsSecurityContextOptions": (
        "gmsaCredentialSpecName/GMSACredentialSpecName:*string gmsaCredentialSpec/GMSACredentialSpec:*string "
        "RunAsUserName:*string HostProcess:*bool"
    ),
    "core.Sysctl": "Name Value",
    "core.Affinity": (
        "NodeAffinity:*core.NodeAffinity PodAffinity:*core.PodAffinity PodAntiAffinity:*core.PodAntiAffinity"
    ),
    "core.NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:*core.NodeSelector "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]core.PreferredSchedulingTerm"
    ),
    "core.NodeSelector": "NodeSelectorTerms:[]core.NodeSelectorTerm",
    "core.PreferredSchedulingTerm": "Weight:int Preference:core.NodeSelectorTerm",
    "core.PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[]core.PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]core.WeightedPodAffinityTerm"
    ),
    "core.PodAntiAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[]core.PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]core.WeightedPodAffinityTerm"
    ),
    "core.WeightedPodAffinityTerm": "Weight:int PodAffinityTerm:core.PodAffinityTerm",
    "core.PodAffinityTerm": (
        "LabelSelector:*v1.LabelSelector Namespaces:texts TopologyKey NamespaceSelector:*v1.LabelSelector "
        "MatchLabelKeys:texts MismatchLabelKeys:texts"
    ),
    "v1.LabelSelector": "MatchLabels:map MatchExpressions:[]v1.LabelSelectorRequirement",
    "v1.LabelSelectorRequirement": "Key Operator Values:texts",
    "core.PodDNSConfig": "Nameservers:texts Searches:texts Options:[]core.PodDNSConfigOption",
    "core.PodDNSConfigOption": "Name Value:*string",
    "core.PodOS": "Name",
    "core.HostPathVolumeSource": "Path Type:*core.HostPathType",
    "core.EmptyDirVolumeSource": "Medium SizeLimit:*quantity",
    "core.SecretVolumeSource": "SecretName Items:[]core.KeyToPath DefaultMode:*int32 Optional:*bool",
    "core.ConfigMapVolumeSource": (
        "/LocalObjectReference:core.LocalObjectReference Items:[]core.KeyToPath DefaultMode:*int32 Optional:*bool"
    ),
    "core.KeyToPath": "Key Path Mode:*int32",
    "core.NFSVolumeSource": "Server Path ReadOnly:bool",
    "core.PersistentVolumeClaimVolumeSource": "ClaimName ReadOnly:bool",
    "core.DownwardAPIVolumeSource": "Items:[]core.DownwardAPIVolumeFile DefaultMode:*int32",
    "core.DownwardAPIVolumeFile": (
        "Path FieldRef:*core.ObjectFieldSelector ResourceFieldRef:*core.ResourceFieldSelector Mode:*int32"
    ),
    "core.ProjectedVolumeSource": "Sources:[]core.VolumeProjection DefaultMode:*int32",
    "core.VolumeProjection": (
        "Secret:*core.SecretProjection DownwardAPI:*core.DownwardAPIProjection ConfigMap:*core.ConfigMapProjection "
        "ServiceAccountToken:*core.ServiceAccountTokenProjection ClusterTrustBundle:*core.ClusterTrustBundleProjection"
    ),
    "core.SecretProjection": "/LocalObjectReference:core.LocalObjectReference Items:[]core.KeyToPath Optional:*bool",
    "core.ConfigMapProjection": "/LocalObjectReference:core.LocalObjectReference Items:[]core.KeyToPath Optional:*bool",
    "core.DownwardAPIProjection": "Items:[]core.DownwardAPIVolumeFile",
    "core.ServiceAccountTokenProjection": "Audience ExpirationSeconds:int Path",
    "core.CSIVolumeSource": (
        "Driver ReadOnly:*bool fsType/FSType:*string VolumeAttributes:map "
        "NodePublishSecretRef:*core.LocalObjectReference"
    ),
    "intstr.IntOrString": "Type:int IntVal:int StrVal",
    "core.PersistentVolumeClaimSpec": (
        "AccessModes:[]core.PersistentVolumeAccessMode Selector:*v1.LabelSelector "
        "Resources:core.VolumeResourceRequirements VolumeName StorageClassName:*string "
        "VolumeMode:*core.PersistentVolumeMode DataSource:*core.TypedLocalObjectReference "
        "DataSourceRef:*core.TypedObjectReference VolumeAttributesClassName:*string"
    ),
    "core.VolumeResourceRequirements": "Limits:amounts Requests:amounts",
    "core.TypedLocalObjectReference": "apiGroup/APIGroup:*string Kind Name",
    "core.TypedObjectReference": "apiGroup/APIGroup:*string Kind Name Namespace:*string",
    "core.PersistentVolumeSource": (
        "gcePersistentDisk/GCEPersistentDisk:*core.GCEPersistentDiskVolumeSource "
        "awsElasticBlockStore/AWSElasticBlockStore:*core.AWSElasticBlockStoreVolumeSource "
        "HostPath:*core.HostPathVolumeSource Glusterfs:*core.GlusterfsPersistentVolumeSource "
        "nfs/NFS:*core.NFSVolumeSource rbd/RBD:*core.RBDPersistentVolumeSource Quobyte:*core.QuobyteVolumeSource "
        "iscsi/ISCSI:*core.ISCSIPersistentVolumeSource FlexVolume:*core.FlexPersistentVolumeSource "
        "Cinder:*core.CinderPersistentVolumeSource cephfs/CephFS:*core.CephFSPersistentVolumeSource "
        "fc/FC:*core.FCVolumeSource Flocker:*core.FlockerVolumeSource AzureFile:*core.AzureFilePersistentVolumeSource "
        "VsphereVolume:*core.VsphereVirtualDiskVolumeSource AzureDisk:*core.AzureDiskVolumeSource "
        "PhotonPersistentDisk:*core.PhotonPersistentDiskVolumeSource PortworxVolume:*core.PortworxVolumeSource "
        "scaleIO/ScaleIO:*core.ScaleIOPersistentVolumeSource Local:*core.LocalVolumeSource "
        "storageos/StorageOS:*core.StorageOSPersistentVolumeSource csi/CSI:*core.CSIPersistentVolumeSource"
    ),
    "core.GCEPersistentDiskVolumeSource": "pdName/PDName fsType/FSType Partition:int ReadOnly:bool",
    "core.AWSElasticBlockStoreVolumeSource": "volumeID/VolumeID fsType/FSType Partition:int ReadOnly:bool",
    "core.GlusterfsPersistentVolumeSource": "endpoints/EndpointsName Path ReadOnly:bool EndpointsNamespace:*string",
    "core.RBDPersistentVolumeSource": (
        "monitors/CephMonitors:texts image/RBDImage fsType/FSType pool/RBDPool user/RadosUser Keyring "
        "SecretRef:*core.SecretReference ReadOnly:bool"
    ),
    "core.QuobyteVolumeSource": "Registry Volume ReadOnly:bool User Group Tenant",
    "core.ISCSIPersistentVolumeSource": (
        "TargetPortal iqn/IQN Lun:int iscsiInterface/ISCSIInterface fsType/FSType ReadOnly:bool Portals:texts "
        "chapAuthDiscovery/DiscoveryCHAPAuth:bool chapAuthSession/SessionCHAPAuth:bool "
        "SecretRef:*core.SecretReference InitiatorName:*string"
    ),
    "core.FlexPersistentVolumeSource": "Driver fsType/FSType SecretRef:*core.SecretReference ReadOnly:bool Options:map",
    "core.CinderPersistentVolumeSource": (
        "volumeID/VolumeID fsType/FSType ReadOnly:bool SecretRef:*core.SecretReference"
    ),
    "core.CephFSPersistentVolumeSource": (
        "Monitors:texts Path User SecretFile SecretRef:*core.SecretReference ReadOnly:bool"
    ),
    "core.FCVolumeSource": ("targetWWNs/TargetWWNs:texts Lun:*int32 fsType/FSType ReadOnly:bool wwids/WWIDs:texts"),
    "core.FlockerVolumeSource": "DatasetName datasetUUID/DatasetUUID",
    "core.AzureFilePersistentVolumeSource": "SecretName ShareName ReadOnly:bool SecretNamespace:*string",
    "core.VsphereVirtualDiskVolumeSource": (
        "VolumePath fsType/FSType StoragePolicyName storagePolicyID/StoragePolicyID"
    ),
    "core.AzureDiskVolumeSource": (
        "DiskName diskURI/DataDiskURI CachingMode:*core.AzureDataDiskCachingMode fsType/FSType:*string ReadOnly:*bool "
        "Kind:*core.AzureDataDiskKind"
    ),
    "core.PhotonPersistentDiskVolumeSource": "pdID/PdID fsType/FSType",
    "core.PortworxVolumeSource": "volumeID/VolumeID fsType/FSType ReadOnly:bool",
    "core.ScaleIOPersistentVolumeSource": (
        "Gateway System SecretRef:*core.SecretReference sslEnabled/SSLEnabled:bool ProtectionDomain StoragePool "
        "StorageMode VolumeName fsType/FSType ReadOnly:bool"
    ),
    "core.LocalVolumeSource": "Path fsType/FSType:*string",
    "core.StorageOSPersistentVolumeSource": (
        "VolumeName VolumeNamespace fsType/FSType ReadOnly:bool SecretRef:*core.ObjectReference"
    ),
    "core.ObjectReference": "Kind Namespace Name uid/UID apiVersion/APIVersion ResourceVersion FieldPath",
    "core.CSIPersistentVolumeSource": (
        "Driver VolumeHandle ReadOnly:bool fsType/FSType VolumeAttributes:map "
        "ControllerPublishSecretRef:*core.SecretReference NodeStageSecretRef:*core.SecretReference "
        "NodePublishSecretRef:*core.SecretReference ControllerExpandSecretRef:*core.SecretReference "
        "NodeExpandSecretRef:*core.SecretReference"
    ),
    "core.SecretReference": "Name Namespace",
    "certificates.CertificateSigningRequestCondition": (
        "Type Status Reason Message LastUpdateTime:v1.Time LastTransitionTime:v1.Time"
    ),
    "v1.Time": "/Time:moment",
}
"""Fields in declaration order as ``json/Name:type``: strings by default, with the name in JSON if it differs. A
field without a name in JSON is embedded."""
_SAME: Final = {"core.EphemeralContainerCommon": "core.Container"}
"""Structs with the same fields as another one."""


class Field(NamedTuple):
    """One field of a struct."""

    name: str
    key: str
    """Its name in JSON; empty for an embedded one."""
    kind: str


def is_structure(kind: str) -> bool:
    """True if the fields of a type are known."""
    return _SAME.get(kind, kind) in _TABLE


@cache
def fields_of(kind: str) -> Sequence[Field]:
    """The fields of a struct, in declaration order.

    Examples
    --------
    >>> fields_of("core.HostAlias")
    (Field(name='IP', key='ip', kind=''), Field(name='Hostnames', key='hostnames', kind='texts'))
    """
    return tuple(map(_field, _TABLE[_SAME.get(kind, kind)].split(" ")))


def _field(part: str) -> Field:
    named, _, kind = part.partition(":")
    key, slash, name = named.partition("/")
    return (
        Field(name, key, kind)
        if slash
        else Field(f"{named[0].upper()}{named[1:]}", f"{named[0].lower()}{named[1:]}", kind)
    )
