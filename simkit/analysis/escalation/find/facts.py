"""The objects that decide where primitives lead: pods, accounts, nodes, labels, missing objects."""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.catalogue import DEFINITIONS, POLICIES, catalogue_of
from simkit.analysis.escalation.find.pod_constraints import PodConstraints
from simkit.analysis.escalation.find.pod_specs import POD_SPECS, account_named
from simkit.analysis.escalation.find.remembered_facts import RecordedFact, RememberedFacts, UnchangedReads
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import NAMESPACES, PODS, SERVICE_ACCOUNTS
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, ROLES, SERVICE_ACCOUNT, USER, Binding, Grant, Subject
from simkit.logic.rbac.index import RESOURCES, AllowingGrant
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import ALL, Rule
from simkit.logic.workloads.pods import has_ended
from simkit.meta.domain import RBAC_GROUP, SYSTEM_NAMESPACE, api_group, label
from simkit.meta.identity import MASTERS
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of, namespace_of
from simkit.seams.authorization import OPENSHIFT
from simkit.seams.caveats import Caveat, not_captured
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.openshift import CONSTRAINTS
from simkit.snapshot.overlay import OverlaySnapshot

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.account_policies import AccountPolicies

NODES: Final = GroupResource("", "nodes")
SECRETS: Final = GroupResource("", "secrets")
CONFIG_MAPS: Final = GroupResource("", "configmaps")
PERSISTENT_VOLUMES: Final = GroupResource("", "persistentvolumes")
API_SERVICES: Final = GroupResource(api_group("apiregistration"), "apiservices")
ENFORCE: Final = label("enforce", "pod-security")
CONTROL_PLANE: Final = (label("control-plane", "node-role"), label("master", "node-role"))
TOKEN_TYPE: Final = label("service-account-token")
ACCOUNT_ANNOTATION: Final = label("service-account.name")
OF_EVERY_NAMESPACE: Final = (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt"))
OPENSHIFT_GROUP: Final = ".openshift.io"
"""The end of the API groups of OpenShift."""
PRIVILEGED: Final = "privileged"
CHANGEABLE: Final = frozenset(
    (*RESOURCES, NAMESPACES, SERVICE_ACCOUNTS, NODES, SECRETS, CONFIG_MAPS, PERSISTENT_VOLUMES, *POD_SPECS)
)
"""The resources by which clusters may differ whose facts are compared: none that decides what is served or admitted."""
BOOTSTRAP_TYPE: Final = label("token", "bootstrap")
BOOTSTRAPPERS: Final = "system:bootstrappers"
_NO_PARAMETERS: Final = frozenset((*RESOURCES, NAMESPACES))
"""Those whose objects no admission policy takes as its parameters."""


def may_bootstrap_as(group: str, secret: Object) -> bool:
    """True if a bootstrap token is one of a group: of any for such tokens where its values were left out."""
    named = (secret.get("data") or {}).get("auth-extra-groups")
    if named == "" or secret.get("data") is None:
        return group.startswith(BOOTSTRAPPERS)
    return group in (BOOTSTRAPPERS, *b64decode(named or "").decode(errors="replace").split(","))


class ClusterFacts(RememberedFacts):
    """Facts about the objects of a snapshot, each computed once on demand.

    What was not captured counts as absent, and is told by ``unknown``. Facts about objects that may change are noted
    when they are read (``reads``), so that what follows from them can be kept after a change elsewhere.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot
        self.release = snapshot.release
        self.index = index_of(snapshot)
        self.catalogue = catalogue_of(snapshot)
        self._unknown: dict[GroupResource, None] = {}

    def grants(self, subject: Subject) -> tuple[Grant, ...]:
        """Every grant to a subject itself, without those to its groups."""
        return self.remembered(("grants", subject), lambda: tuple(self.index.grants_of_subject(subject)))

    def rules(self, role: Key) -> tuple[Rule, ...] | None:
        """The rules of a role; None if it does not exist."""
        self.reads.note("rules", role)
        return self.index.rules(role)

    def who(self, question: Question) -> tuple[AllowingGrant, ...]:
        """Every grant that allows a question."""
        return self.remembered(("who", question), lambda: tuple(self.index.who(question)))

    @RecordedFact
    def subjects(self) -> Sequence[Subject]:
        """Every subject that a binding names, sorted."""
        return self.index.subjects()

    def follow_all(self, earlier: ClusterFacts, changed: Collection[Key]) -> UnchangedReads:
        """Keep what is known of an earlier cluster; gives back which facts are as they were there."""
        unchanged = UnchangedReads(earlier, self, changed)
        self.follow(unchanged)
        self._unknown = dict(earlier._unknown)
        return unchanged

    def may_follow(self, changed: Iterable[Key]) -> bool:
        """True if facts can be compared with those of a cluster that differs by some objects."""
        resources = {key.resource for key in changed}
        return resources <= CHANGEABLE and (resources <= _NO_PARAMETERS or self.account_policies is None)

    @property
    def unknown(self) -> tuple[GroupResource, ...]:
        """Resources that were needed and not captured: paths through them are not found."""
        return tuple(self._unknown)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """The limit of an answer that these facts were looked at for."""
        return (not_captured(self._unknown),) if self._unknown else ()

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        """The objects of a resource; none if it was not captured."""
        if resource not in self.snapshot.captured():
            self._unknown[resource] = None
            return ()
        if resource in CHANGEABLE:
            return self.remembered(
                ("scan", resource, namespace), lambda: tuple(self.snapshot.scan(resource, namespace))
            )
        return self.snapshot.scan(resource, namespace)

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        """One object; None if it or its resource was not captured."""
        if resource in self.snapshot.captured():
            if resource in CHANGEABLE:
                self.reads.note("get", resource, name, namespace)
            return self.snapshot.get(resource, name, namespace)
        self._unknown[resource] = None
        return None

    @RecordedFact
    def accounts(self) -> Mapping[str, tuple[Subject, ...]]:
        """The service accounts of each namespace; if they were not captured, those that bindings name."""
        found: dict[str, dict[Subject, None]] = defaultdict(dict)
        if SERVICE_ACCOUNTS in self.snapshot.captured():
            for obj in self.snapshot.scan(SERVICE_ACCOUNTS):
                found[namespace_of(obj)][Subject(SERVICE_ACCOUNT, name_of(obj), namespace_of(obj))] = None
        else:
            self._unknown[SERVICE_ACCOUNTS] = None
            for subject in self.subjects:
                if subject.kind == SERVICE_ACCOUNT:
                    found[subject.namespace][subject] = None
        return {namespace: tuple(names) for namespace, names in found.items()}

    @RecordedFact
    def enforced(self) -> Mapping[str, str]:
        """The pod security level of each namespace: of those in the snapshot, then of others with service accounts."""
        found = {name_of(obj): labels_of(obj).get(ENFORCE, PRIVILEGED) for obj in self.scan(NAMESPACES)}
        return found | {name: PRIVILEGED for name in self.accounts if name not in found}

    @RecordedFact
    def unrestricted(self) -> Collection[str]:
        """The namespaces that admit privileged pods, in order."""
        return dict.fromkeys(name for name, level in self.enforced.items() if level == PRIVILEGED)

    @RecordedFact
    def pods(self) -> Mapping[str, tuple[Object, ...]]:
        """The pods of each namespace that have not ended."""
        found: dict[str, list[Object]] = defaultdict(list)
        for pod in self.scan(PODS):
            if not has_ended(pod):
                found[namespace_of(pod)].append(pod)
        return {namespace: tuple(pods) for namespace, pods in found.items()}

    def pods_in(self, namespace: str) -> tuple[Object, ...]:
        """The pods of a namespace that have not ended."""
        return self.remembered(("pods_in", namespace), lambda: self.pods.get(namespace, ()))

    @cached_property
    def _pods_on(self) -> Mapping[str, Sequence[Object]]:
        found: dict[str, list[Object]] = defaultdict(list)
        for pods in self.pods.values():
            for pod in pods:
                if at(pod, "spec", "nodeName"):
                    found[at(pod, "spec", "nodeName")].append(pod)
        return found

    def pods_on(self, node: str) -> tuple[Object, ...]:
        """The pods of a node that have not ended."""
        return self.remembered(("pods_on", node), lambda: tuple(self._pods_on.get(node, ())))

    def pod(self, namespace: str, name: str) -> Object | None:
        """One running pod."""
        return self.remembered(("pod", namespace, name), lambda: self._pods_by_name.get((namespace, name)))

    @cached_property
    def _pods_by_name(self) -> Mapping[tuple[str, str], Object]:
        return {(place, name_of(pod)): pod for place, pods in self.pods.items() for pod in pods}

    def account_of(self, pod: Object) -> Subject | None:
        """The service account whose token the pod mounts; None if it mounts none."""
        spec = at(pod, "spec") or {}
        account = Subject(SERVICE_ACCOUNT, account_named(pod), namespace_of(pod))
        mounts = spec.get("automountServiceAccountToken")
        if mounts is None:
            obj = self.get(SERVICE_ACCOUNTS, account.name, account.namespace)
            mounts = (obj or {}).get("automountServiceAccountToken")
        projected = any(
            "serviceAccountToken" in source
            for volume in spec.get("volumes") or ()
            for source in at(volume, "projected", "sources") or ()
        )
        return account if projected or mounts is not False else None

    def principals_of_pod(self, pod: Object) -> tuple[str, ...]:
        """The users of the provider that the pod can become by its service account."""
        access = self.snapshot.authorization.access
        where = (namespace_of(pod), account_named(pod))
        return tuple(role for *place, role in access.pod_roles if tuple(place) == where) if access else ()

    @RecordedFact
    def nodes(self) -> tuple[str, ...]:
        """All nodes; if they were not captured, those that pods name."""
        named = tuple(sorted(self._pods_on))
        return tuple(name_of(node) for node in self.scan(NODES)) or named

    @RecordedFact
    def control_plane(self) -> tuple[str, ...]:
        """The nodes that carry a control-plane label."""
        return tuple(name_of(node) for node in self.scan(NODES) if any(key in labels_of(node) for key in CONTROL_PLANE))

    @cached_property
    def _by_role_name(self) -> Mapping[str, Binding]:
        return {binding.role.name: binding for binding in self.index.bindings() if binding.subjects}

    def binding_to(self, role: str) -> Binding | None:
        """A binding with subjects of a role by its name; None if there is none."""
        self.reads.note("binding_to", role)
        return self._by_role_name.get(role)

    @RecordedFact
    def groups(self) -> Sequence[Subject]:
        """All groups that bindings name."""
        return [subject for subject in self.subjects if subject.kind == GROUP]

    @RecordedFact
    def people(self) -> Sequence[Subject]:
        """All users that bindings or the groups of OpenShift name and that can log in there."""
        access = self.snapshot.authorization.access
        named = (Subject(USER, one.name) for one in access.entries) if access is not None else ()
        found = {one for one in (*self.subjects, *named) if one.kind == USER and ":" not in one.name}
        return sorted(found)

    @RecordedFact
    def bound_people(self) -> Sequence[tuple[Binding, Subject]]:
        """The users and groups with a ClusterRole; cluster-wide bindings and groups come first."""
        found = [
            (binding, subject)
            for binding in self.index.bindings()
            if binding.role.resource == CLUSTER_ROLES and self.rules(binding.role) is not None
            for subject in binding.subjects
            if subject.kind in (GROUP, USER) and subject.name != MASTERS
        ]
        return sorted(found, key=lambda one: (bool(one[0].namespace), one[1].kind != GROUP, one[1]))

    @RecordedFact
    def secrets(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the secrets of each namespace."""
        found: dict[str, list[str]] = defaultdict(list)
        for obj in self.scan(SECRETS):
            found[namespace_of(obj)].append(name_of(obj))
        return {namespace: tuple(names) for namespace, names in found.items()}

    def secrets_in(self, namespace: str) -> tuple[str, ...]:
        """The names of the secrets of a namespace."""
        return self.remembered(("secrets_in", namespace), lambda: self.secrets.get(namespace, ()))

    def may_have_secret(self, namespace: str, name: str = "") -> bool:
        """True if a namespace may have a secret (of a name)."""
        return self.remembered(("may_have_secret", namespace, name), lambda: self._may_have_secret(namespace, name))

    def _may_have_secret(self, namespace: str, name: str) -> bool:
        if SECRETS not in self.snapshot.captured():
            return True
        found = self.secrets.get(namespace, ())
        return name in found if name else bool(found)

    def is_empty(self, namespace: str) -> bool:
        """True if a namespace contains only default objects and RBAC objects."""
        return self.remembered(("is_empty", namespace), lambda: self._is_empty(namespace))

    def _is_empty(self, namespace: str) -> bool:
        return namespace in self.enforced and NAMESPACES in self.snapshot.captured() and not self._inhabited(namespace)

    def _inhabited(self, namespace: str) -> bool:
        captured = self.snapshot.captured()
        for resource in self.catalogue.stored():
            if resource.namespaced and resource.group != RBAC_GROUP and resource.storage in captured:
                for obj in self.snapshot.scan(resource.storage, namespace):
                    if (resource.resource, name_of(obj)) not in OF_EVERY_NAMESPACE:
                        return True
        return False

    @cached_property
    def _token_secrets(self) -> Mapping[tuple[str, str], tuple[Subject, ...]]:
        found: dict[tuple[str, str], tuple[Subject, ...]] = {}
        for obj in self.scan(SECRETS):
            where, account = (namespace_of(obj), name_of(obj)), annotations_of(obj).get(ACCOUNT_ANNOTATION)
            if obj.get("type") == TOKEN_TYPE and account:
                found[where] = (Subject(SERVICE_ACCOUNT, account, where[0]),)
            elif obj.get("type") == BOOTSTRAP_TYPE and where[0] == SYSTEM_NAMESPACE:
                found[where] = tuple(one for one in self.groups if may_bootstrap_as(one.name, obj))
        return found

    def token_holders(self, namespace: str, name: str) -> tuple[Subject, ...]:
        """The service account whose token a secret holds, or the groups of its bootstrap token; none for others."""
        where = (namespace, name)
        return self.remembered(("token_holders", *where), lambda: self._token_secrets.get(where, ()))

    @RecordedFact
    def missing_accounts(self) -> Mapping[str, tuple[Subject, ...]]:
        """Service accounts that bindings name and that do not exist, by namespace."""
        found: dict[str, list[Subject]] = defaultdict(list)
        if SERVICE_ACCOUNTS in self.snapshot.captured():
            for subject in self.subjects:
                if subject.kind == SERVICE_ACCOUNT and subject not in self.accounts.get(subject.namespace, ()):
                    found[subject.namespace].append(subject)
        return {namespace: tuple(subjects) for namespace, subjects in found.items()}

    def named(self, namespace: str) -> tuple[Subject, ...]:
        """Service accounts of a namespace that bindings name and that do not exist."""
        return self.remembered(("named", namespace), lambda: self.missing_accounts.get(namespace, ()))

    def accounts_in(self, namespace: str, *, impersonated: bool) -> tuple[Subject, ...]:
        """The service accounts of a namespace; to be impersonated, one need not exist, if a binding names it."""
        return (*self.accounts.get(namespace, ()), *(self.named(namespace) if impersonated else ()))

    @RecordedFact
    def missing_namespaces(self) -> tuple[str, ...]:
        """Namespaces of missing service accounts that do not exist either."""
        if NAMESPACES not in self.snapshot.captured():
            return ()
        return tuple(name for name in self.missing_accounts if name not in self.enforced)

    @cached_property
    def _bindings(self) -> Mapping[str, tuple[Binding, ...]]:
        """All bindings by namespace; cluster-wide ones under the empty name."""
        found: dict[str, list[Binding]] = defaultdict(list)
        for binding in self.index.bindings():
            found[binding.namespace].append(binding)
        return {place: tuple(some) for place, some in found.items()}

    @RecordedFact
    def places_with_bindings(self) -> tuple[str, ...]:
        """The namespaces that have bindings; the empty name if there are cluster-wide ones."""
        return tuple(self._bindings)

    def bindings_in(self, place: str) -> tuple[Binding, ...]:
        """The bindings of a namespace; the cluster-wide ones under the empty name."""
        self.reads.note("bindings_in", place)
        return self._bindings.get(place, ())

    @RecordedFact
    def orphans(self) -> tuple[Binding, ...]:
        """Bindings whose role is missing and could be created."""
        return tuple(
            binding
            for binding in self.index.bindings()
            if binding.role.resource in (ROLES, CLUSTER_ROLES) and self.rules(binding.role) is None
        )

    @RecordedFact
    def aggregated(self) -> tuple[tuple[str, Sequence[Mapping[str, Any]]], ...]:
        """Aggregated roles with their selectors."""
        return tuple(
            (name_of(role), at(role, "aggregationRule", "clusterRoleSelectors") or ())
            for role in self.scan(CLUSTER_ROLES)
            if role.get("aggregationRule")
        )

    @RecordedFact
    def cluster_roles(self) -> tuple[str, ...]:
        """The names of all ClusterRoles."""
        return tuple(map(name_of, self.scan(CLUSTER_ROLES)))

    def deputies(self, part: str) -> tuple[Subject, ...]:
        """The service accounts with this name or a name that ends in it."""
        return self.remembered(("deputies", part), lambda: self._named(part))

    def _named(self, part: str) -> tuple[Subject, ...]:
        every = [one for accounts in self.accounts.values() for one in accounts]
        exact = tuple(one for one in every if one.name == part)
        return exact or tuple(one for one in every if one.name.endswith(part))

    @cached_property
    def account_policies(self) -> AccountPolicies | None:
        """The admission policies that keep service accounts out of pods; None where there are no policies."""
        written: Iterable[Object] = self.snapshot.put_of(POLICIES) if isinstance(self.snapshot, OverlaySnapshot) else ()
        if POLICIES in self.snapshot.captured():
            written = self.snapshot.scan(POLICIES)
        if next(iter(written), None) is None:
            return None
        from simkit.analysis.escalation.find.account_policies import (
            AccountPolicies,  # reads expressions: slow to import
        )

        return AccountPolicies(self)

    @cached_property
    def constraints(self) -> PodConstraints | None:
        """The SecurityContextConstraints that pods are held to; None where there are none, or none are known."""
        snapshot = self.snapshot
        if snapshot.authorization.provider != OPENSHIFT or CONSTRAINTS not in snapshot.captured():
            return None
        found = PodConstraints(self)
        return found if found.every else None

    def knows(self, group: str, resource: str) -> bool:
        """True if a resource is served, or has a meaning without being served, as users and signers have."""
        plural = resource.partition("/")[0]
        return plural == ALL or plural in AUTHORIZATION_RESOURCES or self.served(group, resource)

    def served(self, group: str, resource: str) -> bool:
        """True if the release, a custom resource definition or an aggregated API server serves a resource.

        OpenShift serves all of its own.

        Where definitions were not captured, groups that the release does not have may be served.
        """
        known = self.catalogue.resources(group)
        if group.endswith(OPENSHIFT_GROUP) and self.snapshot.authorization.provider == OPENSHIFT:
            return True
        if not known and DEFINITIONS not in self.snapshot.captured():
            return True
        return any(one.resource == resource.partition("/")[0] for one in known) or group in self._aggregated_groups

    @cached_property
    def _aggregated_groups(self) -> frozenset[str]:
        """The API groups that APIServices hand to other servers, whose resources a snapshot does not list."""
        services = self.scan(API_SERVICES) if API_SERVICES in self.snapshot.captured() else ()
        return frozenset(at(one, "spec", "group") or "" for one in services if at(one, "spec", "service"))
