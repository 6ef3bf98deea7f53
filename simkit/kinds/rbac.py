"""Strategies of roles and bindings.

Follows ``pkg/registry/rbac`` and ``pkg/apis/rbac/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.cells import created
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.kinds.parts.template_owner import selector_of
from simkit.kinds.parts.validation.object_meta import LABEL_SELECTOR
from simkit.kinds.rules import REQUIRED, Row, by, fields, fixed, last, must, row, table, validation
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataCheck, MetadataChecks, Strategy, again
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.fielderror import Errors, invalid_value
from simkit.meta.name_validation import dns_subdomain, path_segment, whole_path_segment
from simkit.meta.objects import Draft, Object, name_of

_SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")
_WITH_GROUP: Final = ("User", "Group")


def default_binding(behaviour: ServedBehaviour, draft: Draft) -> None:
    """Set the API groups of subjects and the role; an empty list of subjects is dropped."""
    reference = draft.get("roleRef") or {}
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    draft["roleRef"] = {"apiGroup": reference.get("apiGroup") or RBAC_GROUP, "kind": kind, "name": name}
    subjects = [_defaulted(subject) for subject in draft.get("subjects") or ()]
    if subjects:
        draft["subjects"] = subjects
    else:
        draft.pop("subjects", None)


def binding_strategy(*kinds: str, namespaced: bool) -> Strategy:
    """The strategy of bindings to a role of the given kinds."""
    accounts, others = fields.equal("kind", "ServiceAccount"), fields.equal("kind", *_WITH_GROUP)
    subject = table(
        row("name", REQUIRED),
        row("name", must.be(dns_subdomain), when=accounts),
        row("apiGroup", must.be_one_of(""), when=accounts),
        *(() if namespaced else (row("namespace", REQUIRED, when=accounts),)),
        row("apiGroup", must.be_one_of(RBAC_GROUP), when=others, zero=""),
        row("kind", must.be_one_of(*_SUBJECT_KINDS), zero=""),
    )
    return replace(
        ACCESS_KIND,
        default=default_binding,
        validate=validation(
            row("roleRef.apiGroup", must.be_one_of(RBAC_GROUP), empty=True),
            row("roleRef.kind", must.be_one_of(*kinds), empty=True),
            row("roleRef.name", REQUIRED),
            row("roleRef.name", must.be(path_segment), empty=True),
            row("subjects[]", subject),
        ),
        validate_last=last(fixed("roleRef", shown=partial(structure, "rbac.RoleRef"), detail="cannot change roleRef")),
        print_row=binding_row,
    )


def binding_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
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


ACCESS_KIND: Final = Strategy(
    metadata_checks=MetadataChecks(
        (WHOLE,),
        after=(MetadataCheck(whole=True, until="bindings-checked-once"), again("bindings-checked-once"), CHANGES),
    ),
    validate_name=whole_path_segment,
    allow_create_on_update=True,
)
"""The strategy that each kind completes."""


_OPTIONAL: Final = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")


def normalize_rules(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Set empty rules to null, as they are stored, and drop empty lists within a rule."""
    rules = draft.get("rules") or ()
    draft["rules"] = [_normalized(rule) for rule in rules] or None


def _normalized(rule: Object) -> Draft:
    kept = {name: rule[name] for name in _OPTIONAL if rule.get(name)}
    return {"verbs": rule.get("verbs") or None, **kept}


def _is_mixed(rule: Object) -> bool:
    return any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames"))


def rules_of_role(*, namespaced: bool) -> Row:
    """The row of the rules of a role."""
    of_cluster = "namespaced rules cannot apply to non-resource URLs"
    urls = fields.given("nonResourceURLs")
    return row(
        "rules[]",
        row("verbs", must.be_given("verbs must contain at least one value")),
        *((row("nonResourceURLs", must.be_otherwise(of_cluster, texts), when=urls),) if namespaced else ()),
        row(
            "nonResourceURLs",
            must.be_otherwise("rules cannot apply to both regular resources and non-resource URLs", texts),
            when=lambda rule: rule["nonResourceURLs"] and _is_mixed(rule),
        ),
        row("apiGroups", must.be_given("resource rules must supply at least one api group"), unless=urls),
        row("resources", must.be_given("resource rules must supply at least one resource"), unless=urls),
    )


def _validate_parsed(behaviour: ServedBehaviour, path: str, selector: Object) -> Errors:
    if selector_of(selector) is None:
        yield invalid_value(path, None, "invalid label selector.")


STRATEGIES: Final = {
    "Role": replace(ACCESS_KIND, prepare=normalize_rules, validate=validation(rules_of_role(namespaced=True))),
    "ClusterRole": replace(
        ACCESS_KIND,
        prepare=normalize_rules,
        validate=validation(
            rules_of_role(namespaced=False),
            row(
                "aggregationRule",
                row(
                    "clusterRoleSelectors",
                    must.be_given("at least one clusterRoleSelector required if aggregationRule is non-nil"),
                ),
                row("clusterRoleSelectors[]", table(LABEL_SELECTOR, by(_validate_parsed))),
            ),
        ),
    ),
    "RoleBinding": binding_strategy("Role", "ClusterRole", namespaced=True),
    "ClusterRoleBinding": binding_strategy("ClusterRole", namespaced=False),
}
