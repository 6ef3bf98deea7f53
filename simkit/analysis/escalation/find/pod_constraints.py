"""Pods that the SecurityContextConstraints of an OpenShift cluster refuse, whoever's service account they run as.

The engine holds every pod to the constraints that its user or its service account may use. The search asks the same
functions, so a path by a privileged pod that nobody on it could create is no path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from simkit.analysis.escalation.find.pod_specs import DEFAULT, POD_SPECS
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import PODS
from simkit.logic.podsecurity.constraints import account_identity, held, is_readable
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.logic.rbac.question import Question
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity, service_account_groups, service_account_user
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of
from simkit.snapshot.openshift import CONSTRAINTS, named_by

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.facts import ClusterFacts

Principal = tuple[str, str]
_CONTAINER: Final[Mapping[str, Any]] = {"name": "main", "image": "tools"}


def _pod(volume: Mapping[str, Any] | None = None, context: Mapping[str, Any] | None = None, **spec: Any) -> Object:
    container = dict(_CONTAINER)
    if volume is not None:
        container["volumeMounts"] = [{"name": "host", "mountPath": "/host"}]
        spec["volumes"] = [{"name": "host", **volume}]
    if context is not None:
        container["securityContext"] = dict(context)
    return {"metadata": {}, "spec": {**spec, "containers": [container]}}


Pods = Literal["plain", "claiming", "leading to nodes"]
PLAIN: Final[Pods] = "plain"
"""The pod that asks for the least."""
CLAIMING: Final[Pods] = "claiming"
"""A pod with a volume of the cluster."""
LEADING_TO_NODES: Final[Pods] = "leading to nodes"
"""Pods that each have one way to their node; the first is that of proofs."""
_HOST: Final = {"hostPath": {"path": "/"}}
_ESCAPING: Final = ("SYS_ADMIN", "SYS_MODULE", "DAC_READ_SEARCH", "SYS_RAWIO", "ALL")
NODE_PODS: Final = (
    _pod(_HOST, hostPID=True),
    _pod(_HOST),
    _pod(context={"privileged": True}),
    *(_pod(context={"capabilities": {"add": [name]}}) for name in _ESCAPING),
    _pod({"gitRepo": {"repository": "https://git.example/a.git"}}),
)
_PODS: Final[Mapping[Pods, Sequence[Object]]] = {
    PLAIN: (_pod(),),
    CLAIMING: (_pod({"persistentVolumeClaim": {"claimName": "host"}}),),
    LEADING_TO_NODES: NODE_PODS,
}
_CONTROLLERS: Final = frozenset(
    ("daemon-set", "deployment", "replicaset", "replication", "statefulset", "job", "cronjob")
)


class PodConstraints:
    """The constraints of a cluster, with those who may use each.

    Notes
    -----
    O(constraints + service accounts) for each namespace and kind of pod.
    """

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self.every = tuple(facts.snapshot.scan(CONSTRAINTS))
        """All of them; without any, a dump does not show what OpenShift always has."""
        self._using: dict[Question, frozenset[Principal]] = {}
        self._fitting: dict[Pods, tuple[Object, ...]] = {}
        self.listed: frozenset[Principal] = frozenset(one for each in self.every for one in named_by(each))
        """The users and groups that constraints name themselves."""

    def account(
        self, namespace: str, principals: Collection[Subject], pods: Pods, created: GroupResource
    ) -> str | None:
        """A service account with which one of some pods is admitted in a namespace; None if there is none.

        Parameters
        ----------
        principals
            The subject who makes the pods, with its groups; empty if it is not known who it is, and may use all.
        created
            The resource that is written; where it is not that of pods, a controller makes the pods.
        """
        if not principals:
            return _names_of_accounts(self._facts, namespace)[0]
        makers = _principals(principals) if created == PODS else _CONTROLLING
        if any(not makers.isdisjoint(self.users(one, namespace)) for one in self.fitting(pods)):
            return _names_of_accounts(self._facts, namespace)[0]
        return self._facts.answer(_own_account, namespace, pods)

    def admits(self, pod: Object, namespace: str, account: str, makers: Iterable[Subject]) -> bool:
        """True if a pod is admitted as a service account, made by somebody directly."""
        either = _principals(makers) | _of_identity(account_identity(namespace, account))
        fitting = (one for one in self.every if is_readable(one) and not held(one, {}, pod).errors)
        return any(not either.isdisjoint(self.users(one, namespace)) for one in fitting)

    def refuse(self, principals: Collection[Subject], asked: Permission, account: Subject) -> bool:
        """True if no new pod of somebody can run as a service account; changes of pods are not looked at."""
        created = GroupResource(asked.group, asked.resource)
        if created not in POD_SPECS or (created == PODS and asked.verb != "create"):
            return False
        makers = _principals(principals) if created == PODS else _CONTROLLING
        either = makers | _of_identity(account_identity(account.namespace, account.name))
        return all(either.isdisjoint(self.users(one, account.namespace)) for one in self.fitting(PLAIN))

    def fitting(self, pods: Pods) -> tuple[Object, ...]:
        """The constraints that admit one of some pods; one that cannot be read may be among them.

        Namespaces make no difference: what the pods do not say is set from their ranges, and so lies in these.
        """
        known = self._fitting.get(pods)
        if known is None:
            found = (
                one
                for pod in _PODS[pods]
                for one in self.every
                if not is_readable(one) or not held(one, {}, pod).errors
            )
            known = self._fitting[pods] = tuple({id(one): one for one in found}.values())
        return known

    def users(self, constraint: Object, namespace: str) -> frozenset[Principal]:
        """Those who may use a constraint in a namespace, by its own lists and by roles."""
        group, resource = CONSTRAINTS
        asked = Question("use", group, resource, namespace=namespace, name=name_of(constraint))
        allowed = self._facts.who(asked)  # noted each time, too
        if asked not in self._using:
            granted = (found.grant.subject.principal for found in allowed)
            self._using[asked] = frozenset((*named_by(constraint), *granted, (GROUP, MASTERS)))
        return self._using[asked]


def _names_of_accounts(facts: ClusterFacts, namespace: str) -> list[str]:
    """The service accounts of a namespace, the default one first; it is there where no other is known."""
    names = [one.name for one in facts.accounts.get(namespace, ())]
    return sorted(names or [DEFAULT], key=lambda name: name != DEFAULT)


def _own_account(facts: ClusterFacts, namespace: str, pods: Pods) -> str | None:
    """A service account that may use a constraint for one of some pods itself, whoever makes them."""
    constraints = facts.constraints
    for one in constraints.fitting(pods) if constraints is not None else ():
        users = constraints.users(one, namespace) if constraints is not None else frozenset()
        for name in _names_of_accounts(facts, namespace):
            if not _of_identity(account_identity(namespace, name)).isdisjoint(users):
                return name
    return None


def _principals(subjects: Iterable[Subject]) -> frozenset[Principal]:
    return frozenset(one.principal for one in subjects)


def _of_identity(identity: Identity) -> frozenset[Principal]:
    return frozenset(((USER, identity.user), *((GROUP, name) for name in identity.groups)))


_CONTROLLING: Final = frozenset(
    (
        *((USER, service_account_user(SYSTEM_NAMESPACE, f"{name}-controller")) for name in _CONTROLLERS),
        *((GROUP, name) for name in (*service_account_groups(SYSTEM_NAMESPACE), AUTHENTICATED)),
    )
)
"""The controllers that make the pods of workloads."""
