"""Requests that people know, in the place of made-up ones that would prove the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Final

from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.prove.classes import NamedResource, RequestClass
from simkit.logic.rbac.match import rule_allows
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.attributes import Attributes
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource
from simkit.schema.catalogue import Catalogue

Test = Callable[[Attributes], bool]
_VERBS: Final = ("get", "list", "create", "update", "patch", "delete")
_RESOURCES: Final = (("", "secrets"), ("", "pods"), (RBAC_GROUP, "clusterrolebindings"), ("apps", "deployments"))
_OF_ALL: Final = ("list", "watch", "deletecollection")
_MOST_TRIED: Final = 500


def request_of_class(
    found: RequestClass,
    rule: Rule,
    identity: Identity,
    allowed: Test,
    catalogue: Catalogue,
    *,
    namespace: str,
    new_namespace: str,
) -> Action | None:
    """A request of a class that is not allowed otherwise; None if each one that was tried is.

    Parameters
    ----------
    found
        A class of requests that a rule allows.
    rule
        The rule.
    identity
        The sender.
    allowed
        Whether something else allows a request.
    catalogue
        The resources that exist.
    namespace
        Where the rule is bound; empty for the whole cluster.
    new_namespace
        A namespace without bindings.
    """
    if found.paths:
        return _about_path(found, rule, identity, allowed)
    for verb, group, named, name in islice(_requests(found, rule, catalogue), _MOST_TRIED):
        where = namespace or _place(catalogue, verb, group, named.resource, new_namespace)
        ask = Attributes(identity, verb, group, "", named.resource, named.subresource, where, name)
        if rule_allows(rule, ask) and not allowed(ask):
            return Action(verb, group, named.resource, named.subresource, where, name)
    return None


def _about_path(found: RequestClass, rule: Rule, identity: Identity, allowed: Test) -> Action | None:
    for verb, path in product(("get", *found.verbs) if ALL in rule.verbs else found.verbs, found.paths):
        if not allowed(Attributes(identity, verb, path=path, is_resource=False)):
            return Action(verb, url=path)
    return None


def _place(catalogue: Catalogue, verb: str, group: str, resource: str, new_namespace: str) -> str:
    """A namespace without bindings, or none for a request about all namespaces or what has no namespace."""
    known = catalogue.preferred(GroupResource(group, resource))
    return "" if verb in _OF_ALL or (known is not None and not known.namespaced) else new_namespace


def _requests(found: RequestClass, rule: Rule, catalogue: Catalogue) -> Iterator[tuple[str, str, NamedResource, str]]:
    """Requests with familiar words in the place of wildcards, then those with the made-up words of the class."""
    verbs = _VERBS if ALL in rule.verbs else found.verbs
    names = found.names if rule.resource_names else ("", *found.names)
    resources = tuple(dict.fromkeys(_resources(found, rule, catalogue)))
    for (group, named), verb, name in islice(product(resources, verbs, names), _MOST_TRIED // 2):
        yield verb, group, named, name
    for verb, group, named, name in product(found.verbs, found.groups, found.resources, names):
        yield verb, group, named, name


def _resources(found: RequestClass, rule: Rule, catalogue: Catalogue) -> Iterator[tuple[str, NamedResource]]:
    """Resources that exist, of the groups and names of a rule."""
    any_group, any_resource = ALL in rule.api_groups, ALL in rule.resources
    if any_resource:
        yield from ((group, NamedResource(name)) for group, name in _RESOURCES if any_group or group in found.groups)
    of_any = {text.partition("/")[2] for text in rule.resources if text.startswith("*/")}
    for known in catalogue.stored():
        if any_group or known.group in found.groups:
            for subresource in ("", *known.subresources):
                named = NamedResource(known.resource, subresource)
                if any_resource or named in found.resources or (subresource and subresource in of_any):
                    yield known.group, named
