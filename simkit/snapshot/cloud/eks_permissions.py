"""Policies of IAM: which principals may give themselves access to a cluster of EKS by access entries.

Who may associate an access policy with an access entry, and has one or may create it, can administer the cluster.
Policies of organizations, which are in no export of an account, may take that away.

References
----------
``aws iam get-account-authorization-details``; AWS IAM user guide: "Policy evaluation logic"; Service authorization
reference: "Actions, resources, and condition keys for Amazon Elastic Kubernetes Service".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from simkit.snapshot.cloud.eks_trust import allows, combined, fits, has_variable, statements_of, texts_of
from simkit.snapshot.cloud.output import mappings, text

_CREATE: Final = "eks:createaccessentry"
_ASSOCIATE: Final = "eks:associateaccesspolicy"
_UNREAD: Final = ((True, None), (False, None))
"""What a group or policy decides that is not in the output: it may allow, or deny."""
_INLINE: Final = ("RolePolicyList", "UserPolicyList", "GroupPolicyList")


class _Holder(NamedTuple):
    """A principal or group: its statements, managed policies by ARN, groups, and whether a boundary limits it."""

    statements: tuple[Mapping[str, Any], ...]
    managed: tuple[str, ...]
    groups: tuple[str, ...]
    bounded: bool


@dataclass
class Policies:
    """The principals, groups and policies of an account."""

    holders: dict[str, _Holder] = field(default_factory=dict)
    """Roles and users by their ARN."""
    groups: dict[str, _Holder] = field(default_factory=dict)
    managed: dict[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)

    def take_holder(self, value: Mapping[str, Any]) -> None:
        """Read the details of a role, a user or a group. Raises Unexpected."""
        if "GroupName" in value:
            self.groups[text(value, "GroupName")] = _holder(value)
        else:
            self.holders[text(value, "Arn")] = _holder(value)

    def take_policy(self, value: Mapping[str, Any]) -> None:
        """Read a managed policy with its versions. Raises Unexpected."""
        for version in mappings(value, "PolicyVersionList"):
            if version.get("IsDefaultVersion") is True:
                self.managed[text(value, "Arn")] = statements_of(version, "Document")

    def changers(self, cluster_arn: str, with_entry: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """The principals that may make themselves administrators, each with whether that is certain.

        Parameters
        ----------
        cluster_arn
            The ARN of the cluster; empty if it is not known.
        with_entry
            The principals that have an access entry already.
        """
        known = set(with_entry)
        for arn, holder in self.holders.items():
            associates = self._may(holder, _ASSOCIATE, _entry_arn(cluster_arn, arn))
            creates = True if arn in known else self._may(holder, _CREATE, cluster_arn)
            if associates is not False and creates is not False:
                yield arn, bool(associates and creates) and not holder.bounded

    def _may(self, holder: _Holder, action: str, resource: str) -> bool | None:
        groups = [self.groups.get(name) for name in holder.groups]
        sources = [holder, *(one for one in groups if one is not None)]
        policies = [self.managed.get(arn) for source in sources for arn in source.managed]
        statements = [*(source.statements for source in sources), *(one for one in policies if one is not None)]
        answers = [_holds(one, action, resource) for some in statements for one in some]
        return combined([*answers, *(_UNREAD if None in groups or None in policies else ())])


def _holder(value: Mapping[str, Any]) -> _Holder:
    inline = (one for name in _INLINE for one in mappings(value, name, optional=True))
    statements = tuple(found for one in inline for found in statements_of(one, "PolicyDocument"))
    managed = tuple(text(one, "PolicyArn") for one in mappings(value, "AttachedManagedPolicies", optional=True))
    groups = value.get("GroupList")
    return _Holder(statements, managed, texts_of(groups), "PermissionsBoundary" in value)


def _entry_arn(cluster: str, principal: str) -> str:
    """The ARN of an access entry of a principal, with some number of its own."""
    before, _, name = cluster.partition(":cluster/")
    account, _, rest = principal.partition(":iam::")[2].partition(":")
    kind, _, path = rest.partition("/")
    return f"{before}:access-entry/{name}/{kind}/{account}/{path.rpartition('/')[2]}/0" if name else ""


def _holds(statement: Mapping[str, Any], action: str, resource: str) -> tuple[bool, bool | None]:
    """Whether a statement allows, and whether it holds for an action on a resource."""
    allowing = allows(statement)
    actions, resources = texts_of(statement.get("Action")), texts_of(statement.get("Resource"))
    if "NotAction" in statement:
        named = not _any_fits(texts_of(statement["NotAction"]), action)
    else:
        named = _any_fits(actions, action)
    if not named:
        return allowing, False
    if statement.get("Condition") or "NotResource" in statement:
        return allowing, None
    if "*" in resources:
        return allowing, True
    if not resource:
        return allowing, None
    if any(fits(one, resource) for one in resources):
        return allowing, True
    numbered = resource.endswith("/0") and any(one.startswith(resource[:-1]) for one in resources)
    return allowing, None if numbered or has_variable(resources) else False


def _any_fits(patterns: Sequence[str], action: str) -> bool:
    return any(fits(one.lower(), action) for one in patterns)
