"""Service accounts that admission policies keep out of the pods that somebody makes, whatever else the pods say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.analysis.admission.simulated_writes import SnapshotReader
from simkit.analysis.catalogue import POLICIES, POLICY_BINDINGS
from simkit.analysis.escalation.find.pod_specs import ACCOUNT, DEFAULT, POD_SPECS
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import NAMESPACES
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.logic.policy.binding import Binding, BoundPolicy, bind_policies
from simkit.logic.policy.decide import decide
from simkit.logic.policy.policy import Policy
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, Subject
from simkit.meta.errors import StatusError
from simkit.meta.identity import MASTERS, Identity, service_account_user
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.overlay import OverlaySnapshot

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.facts import ClusterFacts
    from simkit.language.cel.tree import Node

_OPERATIONS: Final = {"create": "CREATE", "update": "UPDATE", "patch": "UPDATE"}
_KNOWN: Final = frozenset((("object", "kind"), *(("object", *path, ACCOUNT) for path in POD_SPECS.values())))
_BEGINNINGS: Final = frozenset(path[:length] for path in _KNOWN for length in range(2, len(path)))
_USER: Final = ("request", "userInfo", "username")
_GROUPS: Final = ("request", "userInfo", "groups")
_OF_REQUEST: Final = frozenset(("namespace", "operation", "kind", "resource", "requestKind", "requestResource"))


class _Known(NamedTuple):
    """A policy whose decision follows from who writes, where, and the account of the pods."""

    bound: BoundPolicy[Policy]
    reads_user: bool
    """True if it asks for the name of the user, which is not known of the members of a group."""


class AccountPolicies:
    """The validating admission policies that decide on pods by nothing but who makes them, where, and their account.

    Others may be passed by a change of the object: they refuse nothing for certain, and are not looked at.
    """

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._reader = SnapshotReader(facts.snapshot)
        policies = (Policy(each, facts.snapshot.behaviour) for each in _stored(facts.snapshot, POLICIES))
        self._known = tuple(_known(policies, _stored(facts.snapshot, POLICY_BINDINGS)))

    def __bool__(self) -> bool:
        return bool(self._known)

    def refuse(self, who: Subject, principals: Iterable[Subject], asked: Permission, account: Subject) -> bool:
        """True if nobody who is a subject can make an object whose pods run as a service account.

        Parameters
        ----------
        who
            A user or service account, or a group, whose members may be in other groups too.
        principals
            The subject with its known groups.
        asked
            The permission by which it is made or changed.
        account
            The service account; the object is in its namespace.
        """
        resource = GroupResource(asked.group, asked.resource)
        if resource not in POD_SPECS or asked.verb not in _OPERATIONS:
            return False
        self._facts.get(NAMESPACES, account.namespace)  # noted: policies may select it
        writes = [
            self._write(identity, asked, one)
            for identity in self._identities(who, principals)
            for one in _objects(resource, account, self._reader.catalogue)
        ]
        usable = [one.bound for one in self._known if not (one.reads_user and who.kind == GROUP)]
        return bool(usable) and all(self._is_denied(usable, write) for write in writes)

    def _is_denied(self, policies: Sequence[BoundPolicy[Policy]], write: AdmissionAttributes) -> bool:
        try:
            return bool(decide(write, policies, self._reader).denials)
        except StatusError:
            return False  # the namespace is not there

    def _identities(self, who: Subject, principals: Iterable[Subject]) -> Iterator[Identity]:
        groups = tuple(one.name for one in principals if one.kind == GROUP)
        name = service_account_user(who.namespace, who.name) if who.kind == SERVICE_ACCOUNT else who.name
        user = "" if who.kind == GROUP else name
        yield Identity(user, groups)
        if who.kind != SERVICE_ACCOUNT:  # the other groups of people are not known, and any may be exempt
            others = (one.name for one in self._facts.groups if one.name != MASTERS)
            yield Identity(user, tuple(dict.fromkeys((*groups, *others))))

    def _write(self, identity: Identity, asked: Permission, obj: Object) -> AdmissionAttributes:
        resource = self._reader.catalogue.preferred(GroupResource(asked.group, asked.resource))
        assert resource is not None
        operation = _OPERATIONS[asked.verb]
        old = obj if operation == "UPDATE" else None
        where = obj["metadata"]["namespace"]
        return AdmissionAttributes(identity, operation, resource.gvr, resource.gvk, "", where, "", obj, old)


def _objects(resource: GroupResource, account: Subject, catalogue: Any) -> Iterator[Object]:
    """The least that an object says whose pods run as an account: without a name, it is that of the namespace."""
    known = catalogue.preferred(resource)
    specs: list[dict[str, Any]] = [{ACCOUNT: account.name}]
    if account.name == DEFAULT:
        specs += [{}, {ACCOUNT: ""}]
    for inner in specs:
        for step in reversed(POD_SPECS[resource]):
            inner = {step: inner}
        meta = {"name": "", "namespace": account.namespace}
        yield {"apiVersion": known.api_version, "kind": known.kind, "metadata": meta, **inner}


def _stored(snapshot: Snapshot, resource: GroupResource) -> Iterable[Object]:
    if resource in snapshot.captured():
        return snapshot.scan(resource)
    return snapshot.put_of(resource) if isinstance(snapshot, OverlaySnapshot) else ()


def _known(policies: Iterable[Policy], bindings: Iterable[Object]) -> Iterator[_Known]:
    """The policies that deny and read nothing that whoever writes may choose, but for the account."""
    denying = [one for one in map(Binding, bindings) if "Deny" in one.actions and not _selects_objects(one)]
    for bound in bind_policies(policies, denying):
        paths = None if _asks_more(bound.policy) else _reads(bound.policy)
        if paths is not None:
            yield _Known(bound, _USER in paths)


def _selects_objects(binding: Binding) -> bool:
    return _by_object((binding.object.get("spec") or {}).get("matchResources") or {}) or binding.param_ref is not None


def _asks_more(policy: Policy) -> bool:
    return policy.param_kind is not None or _by_object(policy.spec.get("matchConstraints") or {})


def _by_object(match: Object) -> bool:
    """True if a match looks at labels or names of objects."""
    rules = (*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ()))
    return bool(match.get("objectSelector")) or any(rule.get("resourceNames") for rule in rules)


def _reads(policy: Policy) -> frozenset[tuple[str, ...]] | None:
    """The paths that a policy's conditions and validations read; None if some of them are not known of a step."""
    paths: set[tuple[str, ...]] = set()
    for path, expression in policy.expressions():
        if path.startswith(("spec.auditAnnotations", "spec.validations")) and not path.endswith("].expression"):
            continue  # they decide nothing
        if expression.program is None:
            return None
        for found, tested in _paths(expression.program.node):
            if not (_is_known(found) or (tested and found in _BEGINNINGS)):
                return None
            paths.add(found)
    return frozenset(paths)


def _is_known(path: tuple[str, ...]) -> bool:
    root, *rest = path
    if root in ("oldObject", "params", "authorizer"):
        return False
    if root == "object":
        return path in _KNOWN
    if root == "request":
        return path in (_USER, _GROUPS) or (bool(rest) and rest[0] in _OF_REQUEST)
    return True  # the namespace, other variables, and what macros go through


def _paths(node: Node) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The names that an expression reads, each with its fields, and whether it only asks if the last is there."""
    from simkit.language.cel.tree import Ident, Select

    if isinstance(node, Ident):
        yield (node.name.lstrip("."),), False
        return
    if isinstance(node, Select):
        fields: list[str] = []
        inner: Node = node
        while isinstance(inner, Select):
            fields.append(inner.field)
            inner = inner.operand
        if isinstance(inner, Ident):
            yield (inner.name.lstrip("."), *reversed(fields)), node.test
            return
    for child in node.children():
        yield from _paths(child)
