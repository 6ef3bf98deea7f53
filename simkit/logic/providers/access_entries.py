"""The grants of a provider as bindings of its access policies or roles to principals, and commands that change them.

On EKS a principal is the user ``aws:`` with the ARN of its role or user of IAM, a name that no request carries. Its
requests carry the user name of its access entry, which may hold templates:
``arn:aws:sts::111122223333:assumed-role/Admin/{{SessionName}}``. Elsewhere most principals are users and groups by the
names that their requests carry; a template stands for the users of a domain.

References
----------
Amazon EKS user guide: "Associate access policies with access entries", "Review access policy permissions".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from simkit.logic.rbac.binding import ACCESS_ENTRIES, ACCESS_POLICIES, GROUP, USER, Binding, Subject
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta.attributes import Attributes
from simkit.meta.names import GroupResource, Key
from simkit.present.escaping import shell_command
from simkit.seams.authorization import CREDENTIALS, PRINCIPAL, AccessEntry, AccessPolicy, Denial, ProviderAccess
from simkit.snapshot.cloud.output import EVERYTHING, TEMPLATE, matches, without

_NONE: Final = GroupResource("", "")
"""The resource of grants of a provider that makes none outside of the cluster."""


class AccessEntryBindings:
    """The bindings of a provider's grants, and the names of its principals. It does not change.

    Examples
    --------
    >>> from simkit.seams.authorization import AccessEntry
    >>> entry = AccessEntry("arn:aws:iam::111122223333:role/ops", "ops:{{SessionName}}")
    >>> AccessEntryBindings(ProviderAccess(entries=(entry,))).users("ops:ann")
    ('ops:ann', 'aws:arn:aws:iam::111122223333:role/ops')
    """

    def __init__(self, access: ProviderAccess) -> None:
        self.access = access
        self._rules = dict(access.rules)
        self._scoped = [
            (entry, policy, namespace, self.left(policy.name, entry.kind, entry.name, entry.groups, namespace))
            for entry in access.entries
            for policy in entry.policies
            if policy.name in access.rules
            for namespace in policy.namespaces or ("",)
        ]
        self._by_user: dict[str, list[str]] = {}
        self._templates: list[tuple[list[str], str]] = []
        self._resources = tuple(
            next((resource for resource, provider in kinds.items() if provider == access.provider), _NONE)
            for kinds in (ACCESS_ENTRIES, ACCESS_POLICIES)
        )
        users = [entry for entry in access.entries if entry.kind == USER]
        for entry in users:
            if TEMPLATE.search(entry.user):
                self._templates.append((TEMPLATE.split(entry.user), entry.name))
            else:
                self._by_user.setdefault(entry.user, []).append(entry.name)
        self._names = {entry.name: entry.user for entry in users}

    def left(self, role: str, kind: str, name: str, groups: Iterable[str], namespace: str) -> str:
        """The role that denials certainly leave to a principal; one that allows everything stays as it is."""
        names = frozenset(((kind, name), *((GROUP, one) for one in groups)))
        for one in self.access.denials:
            if (not one.namespaces or namespace in one.namespaces) and one.holds_for(names, some_member=kind == GROUP):
                rules, less = self._rules[role], without(self._rules[role], one.rules)
                if less != rules:
                    role = f"{role} without what {one.name} denies"
                    self._rules[role] = less
        return role

    def rules(self, role: str) -> tuple[Rule, ...]:
        """The rules of a role."""
        return tuple(map(Rule.of, self._rules[role]))

    @cached_property
    def denials(self) -> tuple[tuple[Denial, RuleSet], ...]:
        """What takes away some of the grants, with its rules."""
        return tuple((one, RuleSet.of(tuple(map(Rule.of, one.rules)))) for one in self.access.denials)

    def denial(self, ask: Attributes) -> tuple[bool | None, str]:
        """The name of a denial that takes a request away from the provider's grants, and True; None if it may do so."""
        identity = ask.identity
        names = frozenset(((USER, identity.user), *((GROUP, name) for name in identity.groups)))
        answer: tuple[bool | None, str] = (False, "")
        for one, rules in self.denials:
            if rules.first(ask) >= 0 and (not one.namespaces or ask.namespace in one.namespaces):
                holds = one.holds_for(names, some_member=not identity.user)
                if holds:
                    return True, one.name
                if holds is None:
                    answer = None, one.name + (f" ({one.undecided})" if one.undecided else "")
        return answer

    def denies_question(self, question: Question, subject: Subject) -> bool:
        """True if a denial certainly takes away whatever a subject is granted of a question by the provider."""
        names = frozenset((subject.principal, *((GROUP, name) for name in self._groups.get(subject.name, ()))))
        return any(
            one.holds_for(names, some_member=subject.kind == GROUP)
            and (not one.namespaces or question.namespace in one.namespaces)
            and any(question.first_allowing(rules, mention) >= 0 for mention in question.mentions)
            for one, rules in self.denials
        )

    @cached_property
    def _groups(self) -> Mapping[str, tuple[str, ...]]:
        """The groups of users, as far as their requests carry them."""
        return {entry.user: entry.groups for entry in self.access.entries if entry.kind == USER}

    @cached_property
    def undecided(self) -> AccessEntryBindings | None:
        """The grants of which it is not known whether they count; None if there are none."""
        return self._view(self.access.undecided)

    @cached_property
    def undecided_credentials(self) -> AccessEntryBindings | None:
        """Those of these grants that no denial takes away: whoever gets a credential uses it as somebody else."""
        found = (
            replace(entry, policies=tuple(one for one in entry.policies if one.name.endswith(CREDENTIALS)))
            for entry in self.access.undecided
        )
        return self._view(tuple(entry for entry in found if entry.policies))

    def _view(self, entries: tuple[AccessEntry, ...]) -> AccessEntryBindings | None:
        if not entries:
            return None
        names = dict.fromkeys(policy.name for entry in entries for policy in entry.policies)
        rules = {name: self.access.rules.get(name) or EVERYTHING for name in names}
        return AccessEntryBindings(replace(self.access, entries=entries, rules=rules, undecided=(), denials=()))

    def __contains__(self, user: str) -> bool:
        """True for the user that stands for a principal with an access entry."""
        return user in self._names

    def request_name(self, principal: str) -> str:
        """The user name of a principal's requests; empty if each session has a name of its own."""
        name = self._names[principal]
        return "" if TEMPLATE.search(name) else name

    def roles(self) -> Iterator[tuple[Key, RuleSet]]:
        """The access policies that are associated with a principal, with their rules."""
        for name in dict.fromkeys(role for *_, role in self._scoped):
            yield self._role(name), RuleSet.of(self.rules(name))

    def fixed(self) -> Iterator[Binding]:
        """The bindings in the cluster, and in namespaces that are named without wildcards."""
        return (self._binding(*one) for one in self._scoped if "*" not in one[2])

    def within(self, namespace: str) -> Iterator[Binding]:
        """The bindings in a namespace that matches a wildcard."""
        return (
            self._binding(entry, policy, namespace, role)
            for entry, policy, scope, role in self._patterns
            if matches(scope, namespace)
        )

    @cached_property
    def _patterns(self) -> list[tuple[AccessEntry, AccessPolicy, str, str]]:
        return [one for one in self._scoped if "*" in one[2]]

    def users(self, user: str) -> tuple[str, ...]:
        """The names under which a user may be bound: its own, its principals', and that of a principal's requests."""
        if user in self._names:
            name = self.request_name(user)
            if name != user:
                return (user, name) if name else (user,)
        found = [name for name in self._by_user.get(user, ()) if name != user]
        matching = [principal for parts, principal in self._templates if fits(parts, user)]
        return (user, *found, *matching) if found or matching else (user,)

    def _role(self, name: str) -> Key:
        return Key(self._resources[1], "", name)

    def _binding(self, entry: AccessEntry, policy: AccessPolicy, namespace: str, role: str) -> Binding:
        place = "".join(f" {words}" for words in (policy.place, policy.undecided) if words)
        key = Key(self._resources[0], namespace, f"{entry.principal} ({policy.name}){place}")
        return Binding(key, self._role(role), (Subject(entry.kind, entry.name),))


def fits(parts: Sequence[str], user: str) -> bool:
    """True if a user name is made of some parts with something between them each time that has no slash.

    There are at most three parts: a user name has at most two templates.

    Notes
    -----
    O(length of the name), however often the middle part stands in it.

    Examples
    --------
    >>> fits(["ops:", ""], "ops:ann"), fits(["ops:", ""], "ops:a/b"), fits(["", "-", "-x"], "a-b-c-x")
    (True, False, True)
    """
    first, *middle, last = parts
    if not (user.startswith(first) and user.endswith(last) and len(user) > len(first) + len(last)):
        return False
    rest = user[len(first) : len(user) - len(last)]
    if not middle:
        return "/" not in rest
    slash, final = rest.find("/"), rest.rfind("/")
    at = rest.find(middle[0], 1)
    while at > 0:
        end = at + len(middle[0])
        if end < len(rest) and final < end and (slash < 0 or slash >= at):
            return True
        at = rest.find(middle[0], at + 1)
    return False


_POLICIES_OF: Final = {
    "projects": ("projects",),
    "folders": ("resource-manager", "folders"),
    "organizations": ("organizations",),
}
"""The words of gcloud for the places of allow policies."""


def disassociation(binding: Key, cluster: str = "") -> str:
    """The provider's command that takes one of its grants away, quoted for a shell."""
    principal, _, rest = binding.name.partition(" (")
    name, _, place = rest.rpartition(")")
    place = place.removeprefix(" in ").removeprefix(" at ")
    provider = ACCESS_ENTRIES[binding.resource]
    if provider == "EKS":
        policy = f"arn:{principal.split(':')[1]}:eks::aws:cluster-access-policy/{name}"
        words = ("--cluster-name", cluster or "CLUSTER", "--principal-arn", principal, "--policy-arn", policy)
        return shell_command("aws", "eks", "disassociate-access-policy", *words)
    if provider == "GKE":
        where, _, group = place.partition(",")[0].partition(" by ")
        kind, _, number = where.partition("/")
        resource = _POLICIES_OF.get(kind, ("projects",))
        told: tuple[str, ...] = (number or "PROJECT", "--member", group or principal, "--role", name)
        return shell_command("gcloud", *resource, "remove-iam-policy-binding", *told)
    if place.startswith("by "):
        return shell_command(
            "az", "aks", "update", "--aad-admin-group-object-ids", "IDS", "--name", cluster or "CLUSTER"
        )
    told = ("--assignee", principal, "--role", name, "--scope", place)
    return shell_command("az", "role", "assignment", "delete", *told)


def grouping(access: ProviderAccess, name: str) -> str:
    """The provider's command that puts a principal into a group, quoted for a shell; empty where it has none."""
    if access.provider != "EKS":
        return ""
    words = ("--cluster-name", access.cluster or "CLUSTER", "--principal-arn", name.removeprefix(PRINCIPAL))
    return shell_command("aws", "eks", "update-access-entry", *words, "--kubernetes-groups", "GROUP")
