"""Defaulting, validation and printing of RoleBinding and ClusterRoleBinding.

Follows ``pkg/apis/rbac/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import created
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.fielderror import FieldError, Shown, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_subdomain, path_segment
from simkit.meta.objects import Draft, Object, name_of

_SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")
_WITH_GROUP: Final = ("User", "Group")


def default_binding(draft: Draft) -> None:
    """Set the API groups of subjects and the role; an empty list of subjects is dropped."""
    reference = draft.get("roleRef") or {}
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    draft["roleRef"] = {"apiGroup": reference.get("apiGroup") or RBAC_GROUP, "kind": kind, "name": name}
    subjects = [_defaulted(subject) for subject in draft.get("subjects") or ()]
    if subjects:
        draft["subjects"] = subjects
    else:
        draft.pop("subjects", None)


def validate_binding(binding: Object, kinds: Sequence[str], *, namespaced: bool) -> Sequence[FieldError]:
    """The errors of a binding to a role of the given kinds."""
    return [*_validate_reference(binding["roleRef"], kinds), *_validate_subjects(binding, namespaced)]


def validate_same_role(binding: Object, old: Object) -> Sequence[FieldError]:
    """The error of a binding that names another role than before."""
    if binding["roleRef"] == old.get("roleRef"):
        return ()
    return [invalid_value("roleRef", _shown(binding["roleRef"]), "cannot change roleRef")]


def binding_row(obj: Object, now: float) -> Sequence[Any]:
    """Name, role, age, users, groups and service accounts."""
    subjects = obj.get("subjects") or ()
    named = [
        ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == kind)
        for kind in _WITH_GROUP
    ]
    accounts = (
        f"{one.get('namespace', '')}/{one.get('name', '')}" for one in subjects if one.get("kind") == "ServiceAccount"
    )
    reference = obj.get("roleRef") or {}
    return [
        name_of(obj),
        f"{reference.get('kind', '')}/{reference.get('name', '')}",
        created(obj, now),
        *named,
        ", ".join(accounts),
    ]


def _defaulted(subject: Object) -> Draft:
    kind = subject.get("kind") or ""
    group = subject.get("apiGroup") or (RBAC_GROUP if kind in _WITH_GROUP else "")
    made = {"kind": kind, "apiGroup": group, "name": subject.get("name") or ""}
    namespace = subject.get("namespace")
    return {key: value for key, value in {**made, "namespace": namespace}.items() if value or key in ("kind", "name")}


def _validate_reference(reference: Object, kinds: Sequence[str]) -> Iterator[FieldError]:
    if reference["apiGroup"] != RBAC_GROUP:
        yield unsupported("roleRef.apiGroup", reference["apiGroup"], [RBAC_GROUP])
    if reference["kind"] not in kinds:
        yield unsupported("roleRef.kind", reference["kind"], kinds)
    name = reference["name"]
    if not name:
        yield required("roleRef.name")
    yield from (invalid_value("roleRef.name", name, text) for text in path_segment(name))


def _validate_subjects(binding: Object, namespaced: bool) -> Iterator[FieldError]:
    for index, subject in enumerate(binding.get("subjects") or ()):
        yield from _validate_subject(subject, f"subjects[{index}]", namespaced)


def _validate_subject(subject: Object, path: str, namespaced: bool) -> Iterator[FieldError]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        yield from (invalid_value(f"{path}.name", name, text) for text in (dns_subdomain(name) if name else ()))
        if group:
            yield unsupported(f"{path}.apiGroup", group, [""])
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind in _WITH_GROUP:
        if group != RBAC_GROUP:
            yield unsupported(f"{path}.apiGroup", group, [RBAC_GROUP])
    else:
        yield unsupported(f"{path}.kind", kind, _SUBJECT_KINDS)


def _shown(reference: Object) -> Shown:
    """The reference as Go prints the struct."""
    return structure("rbac.RoleRef", reference)
