"""What policies know besides values: checks of the authorizer, and the objects and patches that mutations make.

k8s.io/apiserver/pkg/cel/library/authz.go, releases 1.30 and 1.36; k8s.io/apiserver/pkg/cel/mutation and
library/jsonpatch.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from simkit.language.cel.declarations import Library, declared
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.patch_values import JSON_PATCH_NAME, OBJECT_NAME, TEXTS
from simkit.language.cel.types import DYN, STRING, Member, Type, object_type
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.identity import Identity, service_account_groups, service_account_user
from simkit.meta.name_validation import dns_subdomain, is_dns_label
from simkit.meta.selector_requirements import parsed_or_empty

Ask = Callable[[Attributes], Decision]


@dataclass(frozen=True, slots=True)
class AuthorizerValue:
    """The value of the variable ``authorizer``: the identity that is asked about, and the authorizer."""

    cel_kind: ClassVar[str] = "kubernetes.authorization.Authorizer"
    identity: Identity
    ask: Ask


@dataclass(frozen=True, slots=True)
class _Check:
    """A check under construction."""

    question: Attributes
    ask: Ask


class PathCheck(_Check):
    """A check of a path."""

    __slots__ = ()
    cel_kind: ClassVar[str] = "kubernetes.authorization.PathCheck"


class GroupCheck(_Check):
    """A check of a group's resources."""

    __slots__ = ()
    cel_kind: ClassVar[str] = "kubernetes.authorization.GroupCheck"


class ResourceCheck(_Check):
    """A check of a resource; also the value of ``authorizer.requestResource``."""

    __slots__ = ()
    cel_kind: ClassVar[str] = "kubernetes.authorization.ResourceCheck"


@dataclass(frozen=True, slots=True)
class DecisionValue:
    """The authorizer's decision."""

    cel_kind: ClassVar[str] = "kubernetes.authorization.Decision"
    decision: Decision


def _path(asker: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return PathCheck(Attributes(asker.identity, "", path=path, is_resource=False), asker.ask)


def _group(asker: AuthorizerValue, group: str) -> GroupCheck:
    return GroupCheck(Attributes(asker.identity, "", group=group), asker.ask)


def _service_account(asker: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if dns_subdomain(name, False):
        raise EvaluationError("Invalid service account name")
    if not is_dns_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    identity = Identity(service_account_user(namespace, name), service_account_groups(namespace))
    return AuthorizerValue(identity, asker.ask)  # upstream leaves out the group of all authenticated users


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return ResourceCheck(replace(check.question, version="*", resource=resource), check.ask)


def _with(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def found(check: ResourceCheck, value: str) -> ResourceCheck:
        changes: dict[str, Any] = {field: value}
        return ResourceCheck(replace(check.question, **changes), check.ask)

    return found


def _field_selector(check: ResourceCheck, text: str) -> ResourceCheck:
    return ResourceCheck(replace(check.question, field_selector=parsed_or_empty(text, "")[0]), check.ask)


def _label_selector(check: ResourceCheck, text: str) -> ResourceCheck:
    return ResourceCheck(replace(check.question, label_selector=parsed_or_empty("", text)[1]), check.ask)


def _check(check: _Check, verb: str) -> DecisionValue:
    return DecisionValue(check.ask(replace(check.question, verb=verb)))


AUTHORIZER: Final = Library(
    "authz",
    (1, 27),
    (
        declared("authorizer_path", "Authorizer.path(string) PathCheck", _path),
        declared("authorizer_group", "Authorizer.group(string) GroupCheck", _group),
        declared("authorizer_serviceaccount", "Authorizer.serviceAccount(string,string) Authorizer", _service_account),
        declared("groupcheck_resource", "GroupCheck.resource(string) ResourceCheck", _resource),
        declared("resourcecheck_subresource", "ResourceCheck.subresource(string) ResourceCheck", _with("subresource")),
        declared("resourcecheck_namespace", "ResourceCheck.namespace(string) ResourceCheck", _with("namespace")),
        declared("resourcecheck_name", "ResourceCheck.name(string) ResourceCheck", _with("name")),
        declared("pathcheck_check", "PathCheck.check(string) Decision", _check),
        declared("resourcecheck_check", "ResourceCheck.check(string) Decision", _check),
        declared("decision_errored", "Decision.errored() bool", lambda found: bool(found.decision.error)),
        declared("decision_error", "Decision.error() string", lambda found: found.decision.error),
        declared("decision_allowed", "Decision.allowed() bool", lambda found: found.decision.allowed),
        declared("decision_reason", "Decision.reason() string", lambda found: found.decision.reason),
    ),
)

AUTHORIZER_SELECTORS: Final = Library(
    "authzSelectors",
    (1, 31),
    (
        declared("authorizer_fieldselector", "ResourceCheck.fieldSelector(string) ResourceCheck", _field_selector),
        declared("authorizer_labelselector", "ResourceCheck.labelSelector(string) ResourceCheck", _label_selector),
    ),
)


class _AnyFields(Mapping[str, tuple[str, Member]]):
    """Fields of every name, each of any type."""

    def __getitem__(self, name: str) -> tuple[str, Member]:
        return name, Member(DYN)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Open:
    """An object whose fields no schema declares."""

    fields: Mapping[str, tuple[str, Member]] = _AnyFields()


class _PatchFields:
    """The fields of a JSON patch operation."""

    fields: Mapping[str, tuple[str, Member]] = {
        **{name: (name, Member(STRING)) for name in TEXTS},
        "value": ("value", Member(DYN)),
    }


JSON_PATCH: Final = object_type(JSON_PATCH_NAME, _PatchFields())
"""The type of an operation of a JSON patch."""
OBJECT: Final = object_type(OBJECT_NAME, _Open())
"""The type of an object as a whole."""


def patch_type(name: str) -> Type | None:
    """The type of that name: ``JSONPatch``, or ``Object`` with the names of fields below it.

    Examples
    --------
    >>> str(patch_type("Object.spec.template")), patch_type("Objects")
    ('Object.spec.template', None)
    """
    if name == JSON_PATCH_NAME:
        return JSON_PATCH
    if name == OBJECT_NAME:
        return OBJECT
    return object_type(name, _Open()) if name.startswith(f"{OBJECT_NAME}.") else None


def escaped_key(text: str) -> str:
    """A text as one step of the path of a JSON patch.

    Examples
    --------
    >>> escaped_key("k8s.io/my~label")
    'k8s.io~1my~0label'
    """
    return text.replace("~", "~0").replace("/", "~1")


PATCHES: Final = Library(
    "patches",
    (1, 0),
    (declared("string_jsonpatch_escapeKey_string", "jsonpatch.escapeKey(string) string", escaped_key),),
)
"""The function of mutating policies."""
