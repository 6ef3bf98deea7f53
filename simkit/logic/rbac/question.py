"""A question about everybody: an action without an actor."""

from __future__ import annotations

from dataclasses import dataclass

from simkit.logic.rbac.rule import ALL, Rule, group_matches, path_matches, resource_matches, verb_matches
from simkit.logic.rbac.ruleset import PATHS, RuleSet


@dataclass(frozen=True, slots=True)
class Question:
    """An action without an actor. A path makes it a question about a non-resource URL.

    ``namespace`` is the one where it happens, empty for the whole cluster (all namespaces, or a cluster-scoped
    resource), None for "in any namespace or all of them". ``name`` is one object, empty for requests that name none
    (create, list), None for "any object, even if only one".

    Examples
    --------
    >>> Question("get", resource="secrets", namespace="prod", name="db").reaches("test")
    False
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str | None = ""
    name: str | None = ""
    path: str = ""

    @property
    def resource_path(self) -> str:
        """``pods`` or ``pods/log``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @property
    def mentions(self) -> tuple[str, ...]:
        """The forms in which rules may name the requested resource, each once."""
        if self.path:
            return (PATHS,)
        wide = (f"*/{self.subresource}",) if self.subresource else ()
        return tuple(dict.fromkeys((self.resource_path, ALL, *wide)))

    def reaches(self, namespace: str) -> bool:
        """True if a grant in a namespace (empty: in the cluster) counts for what is asked.

        Paths belong to no namespace: rules about them are dead in a RoleBinding.
        """
        return not namespace or (not self.path and self.namespace in (None, namespace))

    def allowed_by(self, rule: Rule) -> bool:
        """True if the rule allows what is asked, where it is bound."""
        if not verb_matches(rule, self.verb):
            return False
        if self.path:
            return path_matches(rule, self.path)
        named = not rule.resource_names or self.name is None or self.name in rule.resource_names
        return (
            named and group_matches(rule, self.group) and resource_matches(rule, self.resource_path, self.subresource)
        )

    def first_allowing(self, rules: RuleSet, mention: str) -> int:
        """The index of the first rule that allows what is asked, among those which name it in this form; or -1."""
        verb, group, name = self.verb, self.group, self.name
        for index, rule in rules.naming(mention):  # asked of very many rules at once, hence without calls
            if verb not in rule.verbs and ALL not in rule.verbs:
                continue
            if self.path:
                if path_matches(rule, self.path):
                    return index
            elif (group in rule.api_groups or ALL in rule.api_groups) and (
                not rule.resource_names or name is None or name in rule.resource_names
            ):
                return index
        return -1
