"""Pods that the SecurityContextConstraints of an OpenShift cluster refuse, whoever's service account they run as.

The engine holds every pod to the constraints that its user or its service account may use. The search asks the same
functions, so a path by a privileged pod that nobody on it could create is no path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.escalation.find.pod_specs import DEFAULT, POD_SPECS
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import NAMESPACES, PODS
from simkit.logic.podsecurity.constraints import CONSTRAINTS, account_identity, held, is_readable
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.logic.rbac.question import Question
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity, service_account_groups, service_account_user
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of

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


PLAIN: Final = _pod()
"""The pod that asks for the least."""
CLAIMING: Final = (_pod({"persistentVolumeClaim": {"claimName": "host"}}),)
"""A pod with a volume of the cluster."""
_HOST: Final = {"hostPath": {"path": "/"}}
_ESCAPING: Final = ("SYS_ADMIN", "SYS_MODULE", "DAC_READ_SEARCH", "SYS_RAWIO", "ALL")
LEADING_TO_NODES: Final = (
    _pod(_HOST, hostPID=True),
    _pod(_HOST),
    _pod(context={"privileged": True}),
    *(_pod(context={"capabilities": {"add": [name]}}) for name in _ESCAPING),
    _pod({"gitRepo": {"repository": "https://git.example/a.git"}}),
)
"""Pods that each have one way to their node; the first is that of proofs."""
_CONTROLLERS: Final = frozenset(
    ("daemon-set", "deployment", "replicaset", "replication", "statefulset", "job", "cronjob")
)


class PodConstraints:
    """The constraints of a cluster, with those who may use each.

    Notes
    -----
    O(constraints) for each namespace and kind of pod.
    """

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self.every = tuple(facts.snapshot.scan(CONSTRAINTS))
        """All of them; without any, a dump does not show what OpenShift always has."""
        self._admitting: dict[tuple[str, int], tuple[Object, ...]] = {}
        self.listed: frozenset[Principal] = frozenset(one for each in self.every for one in _listed(each))
        """The users and groups that constraints name themselves."""

    def account(
        self, namespace: str, principals: Collection[Subject], pods: Sequence[Object], created: GroupResource
    ) -> str | None:
        """A service account with which one of some pods is admitted in a namespace; None if there is none.

        Parameters
        ----------
        principals
            The subject who makes the pods, with its groups; empty if it is not known who it is, and may use all.
        created
            The resource that is written; where it is not that of pods, a controller makes the pods.
        """
        accounts = [one.name for one in self._facts.accounts.get(namespace, ())] or [DEFAULT]
        accounts.sort(key=lambda name: name != DEFAULT)
        if not principals:
            return accounts[0]
        makers = _principals(principals) if created == PODS else _CONTROLLING
        for pod in pods:
            for constraint in self._fitting(namespace, pod):
                users = self._users(constraint, namespace)
                if not makers.isdisjoint(users):
                    return accounts[0]
                for name in accounts:
                    if not _of_identity(account_identity(namespace, name)).isdisjoint(users):
                        return name
        return None

    def refuse(self, principals: Collection[Subject], asked: Permission, account: Subject) -> bool:
        """True if no new pod of somebody can run as a service account; changes of pods are not looked at."""
        created = GroupResource(asked.group, asked.resource)
        if created not in POD_SPECS or (created == PODS and asked.verb != "create"):
            return False
        makers = _principals(principals) if created == PODS else _CONTROLLING
        either = makers | _of_identity(account_identity(account.namespace, account.name))
        return all(
            either.isdisjoint(self._users(constraint, account.namespace))
            for constraint in self._fitting(account.namespace, PLAIN)
        )

    def _fitting(self, namespace: str, pod: Object) -> tuple[Object, ...]:
        """The constraints that admit a pod; one that cannot be read may be among them."""
        place = self._facts.get(NAMESPACES, namespace) or {}  # noted each time: its ranges may change
        known = self._admitting.get((namespace, id(pod)))
        if known is None:
            known = tuple(one for one in self.every if not is_readable(one) or not held(one, place, pod).errors)
            self._admitting[namespace, id(pod)] = known
        return known

    def _users(self, constraint: Object, namespace: str) -> frozenset[Principal]:
        """Those who may use a constraint in a namespace, by its own lists and by roles."""
        group, resource = CONSTRAINTS
        asked = Question("use", group, resource, namespace=namespace, name=name_of(constraint))
        allowed = (found.grant.subject.principal for found in self._facts.who(asked))
        return frozenset((*_listed(constraint), *allowed, (GROUP, MASTERS)))


def _listed(constraint: Object) -> Iterator[Principal]:
    for field, kind in (("users", USER), ("groups", GROUP)):
        names = constraint.get(field)
        yield from ((kind, str(name)) for name in (names if isinstance(names, list) else ()))


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
