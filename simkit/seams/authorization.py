"""The authorizers of a cluster, in order, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NewType, Protocol

from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.objects import Object
from simkit.seams.caveats import Caveat, not_read

OPTIONS: Final = "the options of the server"
"""The source of the modes of a server that simkit runs."""
MODES: Final = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")
"""The modes that kube-apiserver knows."""
PRINCIPAL: Final = "aws:"
"""The beginning of the names of users that stand for principals of AWS."""
GOOGLE: Final = "gcp:"
"""The beginning of the names of users that stand for several principals of Google Cloud, such as those of a domain."""
AZURE: Final = "azure:"
"""The beginning of the names of users that stand for users of Azure whose names in the cluster are not known."""
OPENSHIFT: Final = "OpenShift"
"""The provider whose servers have users and SecurityContextConstraints among their objects."""
GRANTS: Final = {
    "EKS": ("EKS access entry", "EKS access policy", "EKS access policies"),
    "GKE": ("IAM binding", "IAM role", "IAM roles"),
    "AKS": ("Azure role assignment", "Azure role", "Azure roles"),
}
"""What providers call a grant, and what it grants: one and several."""
_DENIALS: Final = {"GKE": "IAM deny policies", "AKS": "Azure deny assignments"}
"""What of a provider takes away what it grants."""
_BOUNDARIES: Final = {"GKE": "principal access boundaries"}
"""What else may take it away, and is in no export."""
CREDENTIALS: Final = "(credentials of the administrator)"
"""The end of the name of a policy that lets somebody get these, with which no statement of the provider counts."""
MOST_NAMED: Final = 5
"""The gaps of an export that a caveat names."""
_DECIDED: Final = frozenset({"Node", "RBAC", "AlwaysAllow", "AlwaysDeny"})
"""The modes whose decisions follow from the objects alone."""


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """An access policy or role of a provider that a principal has, in some namespaces.

    ``namespaces`` may contain wildcards (``dev-*``); empty means the whole cluster. ``place`` says where the provider
    keeps the grant, in words that follow it: ``in projects/acme``. ``undecided`` says why it is not known whether the
    grant counts, or what it allows; empty for one that counts.
    """

    name: str
    namespaces: tuple[str, ...] = ()
    place: str = ""
    undecided: str = ""


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """A principal of the provider, with the user name and the groups that its requests carry.

    ``user`` may contain templates that are filled in for each session, such as ``{{SessionName}}``. ``subject`` is the
    name of the user or group (``kind``) that bindings name for it; empty where the ARN of AWS stands for it, a name
    that no request carries.
    """

    principal: str
    user: str
    groups: tuple[str, ...] = ()
    policies: tuple[AccessPolicy, ...] = ()
    subject: str = ""
    kind: str = "User"

    @property
    def name(self) -> str:
        """The name of the user or group that stands for the principal."""
        return self.subject or f"{PRINCIPAL}{self.principal}"


Named = tuple[str, str]
"""A user or group as requests carry it: ``User`` or ``Group``, and the name."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A statement of a provider that takes away what its other statements grant; what roles grant stays.

    Attributes
    ----------
    name
        The statement, in words: ``the deny policy x in projects/acme``.
    subjects, excepted
        Those whom it names, and those whom it leaves out, with all known members of groups.
    everybody
        Whether it names everybody.
    unread, unread_exceptions
        Whether groups are named, or left out, whose members the export does not tell.
    rules
        The rules of what it takes away.
    namespaces
        The namespaces in which it holds; empty for all.
    undecided
        Why it is not known whether it holds; empty for one that holds.
    """

    name: str
    subjects: frozenset[Named] = frozenset()
    excepted: frozenset[Named] = frozenset()
    everybody: bool = False
    unread: bool = False
    unread_exceptions: bool = False
    rules: tuple[Object, ...] = field(default=(), hash=False)
    namespaces: tuple[str, ...] = ()
    undecided: str = ""

    def holds_for(self, names: frozenset[Named], *, some_member: bool = False) -> bool | None:
        """True if it names somebody with these names, None if that is not known.

        ``some_member`` asks about whoever is in a group: the denial holds only if no member escapes it.
        """
        if not (self.everybody or not self.subjects.isdisjoint(names)):
            return None if self.unread and not some_member else False
        if not self.excepted.isdisjoint(names):
            return False
        if self.undecided or self.unread_exceptions or (some_member and self.excepted):
            return None
        return True


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """The access that a provider grants besides the objects of a cluster, as its export tells.

    Attributes
    ----------
    provider
        The provider, by its name in ``GRANTS``.
    cluster
        The name of the cluster.
    entries
        The principals that may authenticate.
    missing
        What the export lacks, in words.
    rules
        The rules of the access policies and roles of the entries, by name, as those of an RBAC role.
    unknown
        Permissions of policies that are not known, each with the principal that has it.
    pod_roles
        The users that the pods of a service account can become: namespace, service account, name of the user.
    maps_objects
        Whether an object of the cluster (``aws-auth``) maps principals, too.
    undecided
        The principals with those of their policies of which it is not known whether they count, or what they allow.
    denials
        What takes away some of what the policies allow.
    trusts
        Principals that let others become them, beyond single ones: the name, and whom, in words.
    changers
        Principals that may give themselves all access by the provider, as subjects in text form, each with whether that
        is certain.
    """

    provider: str = "EKS"
    cluster: str = ""
    entries: tuple[AccessEntry, ...] = ()
    missing: tuple[str, ...] = ()
    rules: Mapping[str, tuple[Object, ...]] = field(default_factory=dict, hash=False)
    unknown: tuple[tuple[str, str], ...] = ()
    pod_roles: tuple[tuple[str, str, str], ...] = ()
    maps_objects: bool = False
    undecided: tuple[AccessEntry, ...] = ()
    denials: tuple[Denial, ...] = ()
    trusts: tuple[tuple[str, str], ...] = ()
    changers: tuple[tuple[str, bool], ...] = ()

    def members(self) -> dict[str, tuple[str, ...]]:
        """The principals in each group, as subjects in text form."""
        found: dict[str, list[str]] = {}
        for entry in self.entries:
            for group in entry.groups:
                found.setdefault(group, []).append(f"{entry.kind.lower()}:{entry.name}")
        return {group: tuple(principals) for group, principals in found.items()}


@dataclass(frozen=True, slots=True)
class Authorization:
    """The authorizers that decide on requests to a cluster, in order.

    Attributes
    ----------
    modes
        Their types, as ``--authorization-mode`` names them.
    source
        Where they are known from; empty where they are assumed.
    policies
        The content of the policy file of the mode ABAC.
    feature_gates
        The feature gates that are set on the API server.
    provider
        The provider of a managed cluster.
    outside
        The grants of access besides the cluster's objects that were not read, in words.
    access
        The access that the provider grants, where its export was read.
    unread
        The parts of the source that could not be read, and may grant access.
    """

    modes: tuple[str, ...] = ("RBAC",)
    source: str = ""
    policies: bytes = b""
    feature_gates: Mapping[str, bool] = field(default_factory=dict, hash=False)
    provider: str = ""
    outside: str = ""
    access: ProviderAccess | None = None
    unread: int = 0

    @property
    def decided(self) -> tuple[str, ...]:
        """The modes whose decisions are known."""
        return tuple(mode for mode in self.modes if mode in _DECIDED or (mode == "ABAC" and self.policies))

    @property
    def allows_everything(self) -> bool:
        """True if AlwaysAllow decides, which comes before any authorizer that denies."""
        before = self.modes[: self.modes.index("AlwaysAllow")] if "AlwaysAllow" in self.modes else ("AlwaysDeny",)
        return "AlwaysDeny" not in before

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """The limits of every answer about access to the cluster."""
        return tuple(self._caveats())

    def _caveats(self) -> Iterator[Caveat]:
        if self.unread:
            yield not_read(self.unread)
        if self.access is not None:
            yield from _caveats_of_access(self.access, self.provider)
        elif self.outside:
            text = f"Lower bound: {self.outside} also grant access to a cluster on {self.provider}, and were not read."
            yield Caveat("outside-access", text)
        if not (self.source or self.outside):
            text = "Assumes RBAC alone: nothing shows the authorization modes of kube-apiserver."
            yield Caveat("unknown-authorizers", text)
        if self.allows_everything:
            text = (
                "Everyone can do anything: kube-apiserver runs with AlwaysAllow, so roles and bindings restrict nobody."
            )
            yield Caveat("always-allow", text)
        for mode in self.modes:
            if mode not in self.decided:
                text = f"Incomplete: the decisions of the authorizer {mode} are not known; it may allow or deny more."
                yield Caveat("undecided-authorizer", text)


def _caveats_of_access(access: ProviderAccess, provider: str) -> Iterator[Caveat]:
    """What the export of a provider leaves open."""
    if access.missing:
        told = _first(access.missing, "; ")
        what = "" if provider == OPENSHIFT else f"the {provider} export is incomplete: "
        yield Caveat("outside-access", f"Lower bound: {what}{told}.")
    pairs = [
        *(
            f"{one.name} of {entry.principal if entry.subject else entry.name} ({one.undecided})"
            for entry in access.undecided
            for one in entry.policies
        ),
        *(f"{policy} of {principal}" for policy, principal in access.unknown),
    ]
    if pairs:
        told = f"what these {GRANTS[access.provider][2]} allow, or whether they count, is not known"
        text = f"Lower bound: {told}: {_first(pairs, ', ')}."
        yield Caveat("unknown-access-policy", text)
    if access.denials:
        named = _first(dict.fromkeys(one.name for one in access.denials), "; ")
        told = "lists and paths do not for roles that allow everything, and paths not for single members of a group"
        yield Caveat("denials", f"Upper bound: access is taken away by {named}. Decisions heed that; {told}.")
    more = f"{_DENIALS.get(access.provider, '')}{' besides those in the export' if access.denials else ''}"
    denials = " and ".join(filter(None, (more, _BOUNDARIES.get(access.provider))))
    if more and (access.rules or access.undecided):
        text = f"Upper bound: {denials} were not read, and may deny what {GRANTS[access.provider][2]} allow."
        yield Caveat("unread-denials", text)


def _first(parts: Iterable[str], between: str) -> str:
    """The first of some parts, and how many more there are."""
    every = list(parts)
    more = f"{';' if ';' in between else ''} and {len(every) - MOST_NAMED:,} more" if len(every) > MOST_NAMED else ""
    return between.join(every[:MOST_NAMED]) + more


def stated(modes: Iterable[str], policies: bytes = b"", gates: Mapping[str, bool] | None = None) -> Authorization:
    """The authorizers of a server by its options."""
    return Authorization(tuple(modes), OPTIONS, policies, gates or {})


# The protocols of authentication, and those that other parts need of them.


class Authenticator(Protocol):
    """Finds the identity behind credentials, as ``authenticator.Request`` of k8s.io/apiserver does.

    An implementation must not raise for credentials of another kind, must not change what it is given, and must say
    when it may wait for a service outside the process: requests then run on worker threads.
    """

    @property
    def leaves_process(self) -> bool:
        """True if ``authenticate`` may wait for something outside the process."""
        ...

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity; None for credentials of another kind. Raises a 401 StatusError for bad ones of its kind."""
        ...


Token = NewType("Token", str)


class TokenIssuer(Protocol):
    """Issues service account tokens: what the registry needs of authentication."""

    def issue(self, claims: Mapping[str, Any]) -> Token: ...


class EscalationGuard(Protocol):
    """The RBAC escalation check on written roles and bindings: what admission needs of authorization.

    References
    ----------
    pkg/registry/rbac/escalation_check.go, release 1.30.
    """

    @property
    def leaves_process(self) -> bool:
        """True if a call may wait for another process."""
        ...

    def check_role(self, identity: Identity, role: Object, old: Object | None, *, requested_name: str = "") -> None:
        """Raises the 403 StatusError of kube-apiserver if the role has more rules than the identity.

        ``requested_name`` is the name in the request's path, empty on POST: ``escalate`` limited to a name counts
        only for a request that carries it.
        """
        ...

    def check_binding(self, identity: Identity, binding: Object, old: Object | None) -> None:
        """Raises the 403 (or 404 for a missing role) StatusError if the binding grants more than the identity has."""
        ...
