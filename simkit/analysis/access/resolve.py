"""Resolution of a verb and a resource, as people write them, to the question for the authorizer and for the index."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.rbac.index import index_of
from simkit.logic.rbac.binding import Grant
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.meta.attributes import Attributes
from simkit.meta.domain import AUTHENTICATION_GROUP, CERTIFICATES_GROUP
from simkit.meta.errors import SimkitError, UnknownResource
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource
from simkit.schema.catalogue import Catalogue
from simkit.seams.authorization import OPENSHIFT
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.openshift import served

ALL: Final = "*"
_VERSIONED: Final = re.compile(r"[a-z0-9.-]+/v\d+((alpha|beta)\d+)?")
REQUEST_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy")
URL_VERBS: Final = ("get", "head", "post", "put", "patch", "delete", "options")
SPECIAL_VERBS: Final = ("impersonate", "bind", "escalate", "use", "approve", "sign", "attest")
"""Verbs that no request has: the server itself checks whether an identity has them."""

READING: Final = ("read", "view", "see", "show", "read-only", "readonly")
WRITING: Final = ("write", "edit", "modify", "change", "apply", "put", "post")
"""Words of people who mean several verbs."""

NAMESPACED_VERBS: Final = ("bind", "use")
"""Verbs that the server checks in a namespace even if the resource has none."""

NOBODY: Final = Identity("")


@dataclass(frozen=True, slots=True)
class Permission:
    """A verb on a resource or a URL. ``namespaced`` is true if requests for the resource carry a namespace."""

    verb: str
    api_group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    url: str = ""
    namespaced: bool = False
    as_written: bool = False
    """True if it was written with its group, as in an access review; then a given namespace is kept as it is."""

    @property
    def is_placed(self) -> bool:
        """True if a given namespace counts, also for a cluster-scoped resource.

        The server asks in the namespace of a binding whether its author may bind a cluster role, and in that of a pod
        whether its account may use a policy.
        """
        return self.namespaced or self.as_written or self.verb in NAMESPACED_VERBS

    @property
    def is_namespace(self) -> bool:
        """True if the resource is ``namespaces``, whose requests carry the object's name as their namespace."""
        return not self.api_group and self.resource == "namespaces"

    def ask(self, namespace: str, identity: Identity = NOBODY, *, name: str | None = None) -> Attributes:
        """The attributes for the authorizer in a namespace (empty: for the whole cluster)."""
        if self.url:
            return Attributes(identity, self.verb, path=self.url, is_resource=False)
        asked = self.name if name is None else name
        return Attributes(identity, self.verb, self.api_group, "", self.resource, self.subresource, namespace, asked)

    def __str__(self) -> str:
        if self.url:
            return f"{self.verb} {self.url}"
        path = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        what = f"{path}.{self.api_group}" if self.api_group else path
        return f"{self.verb} {what}" + (f" {self.name!r}" if self.name else "")


AUTHORIZATION_RESOURCES: Final = {
    "users": Permission("", "", "users"),
    "groups": Permission("", "", "groups"),
    "uids": Permission("", AUTHENTICATION_GROUP, "uids"),
    "userextras": Permission("", AUTHENTICATION_GROUP, "userextras"),
    "signers": Permission("", CERTIFICATES_GROUP, "signers"),
}
"""Resources that no server serves and discovery does not list; rules name them for the special verbs."""


def resolve_permission(
    snapshot: Snapshot,
    verb: str,
    resource: str = "",
    *,
    subresource: str = "",
    name: str = "",
    url: str = "",
    api_group: str | None = None,
) -> Permission:
    """The permission that the words name at the snapshot's release, including its custom resources.

    Parameters
    ----------
    resource
        Plural, singular, short name or kind, with its subresource (``pods/log``) or group (``deployments.apps``) if
        wanted, or ``*``.
    api_group
        The API group; given, verb, resource and namespace are taken as they are written, as in an access review,
        whether the release has them or not.
    url
        A path that is no resource, such as ``/metrics``, instead of a resource; a resource that begins with a slash is
        one too.

    Raises
    ------
    UnknownResource
        Where the release has no such resource; it suggests near names.
    SimkitError
        Where both or none of ``resource`` and ``url`` are given, or several names.
    """
    one_verb(verb)
    if not isinstance(name, str):
        raise SimkitError(f"name is one name, not {name!r}; ask for each of several")
    if resource.startswith("/") and not url and api_group is None:
        resource, url = "", resource
    if not resource and not url and _is_resource(catalogue_of(snapshot), verb.partition("/")[0]):
        raise SimkitError(f"{verb!r} is a resource; name the verb before it, as in get {verb}")
    if bool(resource) == bool(url):
        raise SimkitError(f"{verb!r} needs either a resource, such as pods, or a path, such as /metrics")
    if url:
        return Permission(verb, url=url)
    word, _, behind = resource.partition("/")
    behind, _, dotted = behind.partition(".")
    word = f"{word}.{dotted}" if dotted else word
    if api_group is None:
        refuse_version(f"{word.partition('.')[2]}/{behind}")
    found = _resource(snapshot, verb, word, api_group)
    if behind and api_group is None and not subresource:
        _check_subresource(snapshot, found, behind)
    found = replace(found, verb=verb, subresource=subresource or behind, name=name)
    if subresource and behind and subresource != behind:
        raise SimkitError(f"{resource!r} names another subresource than {subresource!r}; give one of them")
    return found


def _is_resource(catalogue: Catalogue, word: str) -> bool:
    try:
        return bool(catalogue.lookup(word))
    except UnknownResource:
        return False


def refuse_version(group: str) -> None:
    """Raise SimkitError for a group with its version, as manifests have it: ``apps/v1``."""
    if _VERSIONED.fullmatch(group):
        raise SimkitError(
            f"{group!r} is a group with its version; write the API group alone, {group.partition('/')[0]}"
        )


def _check_subresource(snapshot: Snapshot, found: Permission, name: str) -> None:
    """Raise SimkitError for a word behind a slash that names no subresource: kubectl has names of objects there."""
    known = catalogue_of(snapshot).preferred(GroupResource(found.api_group, found.resource))
    if name == ALL or found.resource == ALL or known is None or name in known.subresources:
        return
    rules = (rule for grant in index_of(snapshot).all_grants() for rule in grant.rules)
    if any(each.endswith(f"/{name}") for rule in rules for each in rule.resources):
        return
    near = difflib.get_close_matches(name, known.subresources, n=1)
    meant = f"; did you mean {found.resource}/{near[0]}?" if near else ""
    apart = f"give the name of an object apart: {found.verb} {found.resource} {name} (in Python, name={name!r})"
    raise SimkitError(f"{found.resource} have no subresource {name!r}{meant or f'; {apart}'}")


def _resource(snapshot: Snapshot, verb: str, word: str, api_group: str | None) -> Permission:
    catalogue = catalogue_of(snapshot)
    plural = word.partition(".")[0].lower()
    if api_group is not None:
        return Permission(verb, api_group, word, namespaced=_namespaced(catalogue, api_group, word), as_written=True)
    if word == ALL:
        return Permission(verb, ALL, ALL, namespaced=True)
    virtual = AUTHORIZATION_RESOURCES.get(plural)
    if virtual is not None and word in (plural, f"{plural}.{virtual.api_group}"):
        if verb in SPECIAL_VERBS or verb == ALL:
            return virtual
        try:
            catalogue.lookup(word)
        except UnknownResource:
            return virtual
    try:
        known = catalogue.lookup(word)
    except UnknownResource as unknown:
        own = served(word) if snapshot.authorization.provider == OPENSHIFT else None
        if own is not None:
            return Permission(verb, *own[0], namespaced=own[1])
        name, _, group = word.partition(".")
        if "." not in group:
            raise
        raise SimkitError(
            f"{unknown}; where its CustomResourceDefinition is not in the dump, ask for {name} with the API group: "
            f"--api-group {group} (in Python, api_group={group!r})"
        ) from None
    return Permission(verb, known.group, known.resource, namespaced=known.namespaced)


def _namespaced(catalogue: Catalogue, group: str, resource: str) -> bool:
    """True if a resource, perhaps unknown, is namespaced; unknown resources are asked for in the whole cluster."""
    matching = [known for known in catalogue.resources(group) if known.resource == resource] if group != ALL else []
    return matching[0].namespaced if matching else resource not in AUTHORIZATION_RESOURCES


def one_verb(verb: object) -> None:
    """Raise SimkitError for several verbs in place of one."""
    if not isinstance(verb, str) or "," in verb:
        raise SimkitError(f"{verb!r} are several verbs; ask about one at a time")


def check_verb(verb: str, used: Iterable[str], catalogue: Catalogue) -> None:
    """Accept a verb of requests or of some rule; raise SimkitError with similar verbs for any other."""
    known = {*REQUEST_VERBS, *URL_VERBS, *SPECIAL_VERBS, ALL}
    if verb in known or verb in used:
        return
    having = next((one for one in catalogue.resources() if verb in one.subresources), None)
    if having is not None:
        raise SimkitError(
            f"there is no verb {verb!r}; it is a subresource: ask for a verb on it, such as update "
            f"{having.resource}/{verb}"
        )
    if verb.lower() in READING:
        raise SimkitError(f"there is no verb {verb!r}; reading is get (one object), list (all) and watch")
    if verb.lower() in WRITING:
        raise SimkitError(f"there is no verb {verb!r}; writing is create, update, patch, delete and deletecollection")
    near = difflib.get_close_matches(verb.lower(), sorted(known), n=2)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise SimkitError(f"there is no verb {verb!r}, and no rule of the snapshot names it{hint}")


CONNECTIONS: Final = {"exec": "exec", "attach": "attach", "portforward": "portforward", "port-forward": "portforward"}
"""The words for a connection, with the subresource of pods that it is."""
PODS: Final = GroupResource("", "pods")


def connection_subresource(snapshot: Snapshot, verb: str, resource: str) -> str:
    """The subresource of pods that a question is about; empty if its verb is no connection.

    Examples
    --------
    >>> import simkit
    >>> connection_subresource(simkit.Cluster(seed=1).snapshot(), "exec", "po")
    'exec'
    """
    found = CONNECTIONS.get(verb, "") if isinstance(verb, str) else ""
    word, _, behind = (resource or PODS.resource).partition("/")
    if not found or behind not in ("", found):
        return ""
    try:
        return found if catalogue_of(snapshot).lookup(word).group_resource == PODS else ""
    except UnknownResource:
        return ""


def connection_verbs(snapshot: Snapshot) -> tuple[str, ...]:
    """The verbs each of which is enough for a connection: ``create``, and ``get`` (by WebSocket) before 1.35."""
    return ("create",) if snapshot.behaviour.applies("connections-to-pods-need-create") else ("create", "get")


def connection_asked(snapshot: Snapshot, verb: str, resource: str, subresource: str = "") -> str:
    """The connection that a verb on a subresource of pods means, as in ``create pods/exec``; empty if it is none."""
    word, _, behind = resource.partition("/")
    name = subresource or behind
    if verb not in ("create", "get") or name not in CONNECTIONS.values():
        return ""
    return connection_subresource(snapshot, name, word)


SINGLE_OBJECT_VERBS: Final = ("get", "update", "patch", "delete")
"""Verbs on a single object: for these, the name of a namespace is the request's namespace."""


def question_of(asked: Permission, namespace: str | None = None, *, any_name: bool = False) -> Question:
    """The index's question about a target in a namespace (None: anywhere).

    Requests for resources without a namespace carry none, so that grants in a namespace never count; but a namespace
    itself is asked for under its own name, and what is asked as it is written is asked where it says.
    """
    where = namespace if asked.namespaced or asked.verb in NAMESPACED_VERBS else ""
    if asked.as_written and namespace is not None:
        where = namespace
    elif asked.is_namespace and (asked.verb in SINGLE_OBJECT_VERBS or asked.subresource):
        where = asked.name or namespace or None
        if not asked.name and namespace == "":
            where = ""
    name = None if any_name else asked.name
    if asked.url:
        return Question(asked.verb, path=asked.url)
    return Question(asked.verb, asked.api_group, asked.resource, asked.subresource, where, name)


def verbs_of(grants: Iterable[Grant]) -> Iterator[str]:
    """The verbs in the rules of some grants."""
    return (verb for grant in grants for rule in grant.rules for verb in rule.verbs)


def limits(rules: Sequence[Rule], first: int, question: Question) -> tuple[int, tuple[str, ...]]:
    """The rule of a grant that allows most of the question, and the only names that it holds for (empty: all).

    ``first`` is the index of the first rule that allows it.
    """
    if not rules[first].resource_names:
        return first, ()
    matching = [(index, rule) for index, rule in enumerate(rules) if question.allowed_by(rule)]
    for index, rule in matching:
        if not rule.resource_names:
            return index, ()
    return first, tuple(dict.fromkeys(name for _, rule in matching for name in rule.resource_names))


WHOLE_CLUSTER: Final = "*"
"""The text for the whole cluster, in arguments as in the column ``scope``."""


def scope_of(namespace: str | None) -> str | None:
    """The namespace of a question for the index: empty for the whole cluster, None for anywhere.

    Raises
    ------
    SimkitError
        For an empty text.

    Examples
    --------
    >>> scope_of("dev"), scope_of("*"), scope_of(None)
    ('dev', '', None)
    """
    if namespace == "":
        raise SimkitError("the namespace is empty: name one, write '*' for the whole cluster, or leave it out (None)")
    return "" if namespace == WHOLE_CLUSTER else namespace
