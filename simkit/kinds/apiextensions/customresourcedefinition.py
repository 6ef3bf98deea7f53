"""Strategy of CustomResourceDefinition: defaulting, preparation, validation, deletion.

Follows ``k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go`` and
``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.apiextensions.naming import CLEANUP, condition, holds, with_condition
from simkit.kinds.apiextensions.validation.parts import NAMES
from simkit.kinds.apiextensions.validation.structural import levels
from simkit.kinds.parts.copy_on_write import keep_all_but_status
from simkit.kinds.rules import row, validation
from simkit.kinds.strategy import CHANGES, DeleteStrategy, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import API_DOMAIN, EXTENSIONS_GROUP, LABEL_DOMAIN
from simkit.meta.fielderror import Errors, FieldError, invalid_value, quoted, required
from simkit.meta.objects import Draft, Object, at, metadata
from simkit.schema.custom.formats import checked_format


def format_warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about formats that an update brings, or a new definition has."""
    if not behaviour.applies("unrecognized-formats-warned"):
        return ()
    known = frozenset(_unrecognized(behaviour, old)) if old is not None else frozenset()
    return [f"unrecognized format {quoted(name)}" for name in _unrecognized(behaviour, obj) if name not in known]


def _unrecognized(behaviour: ServedBehaviour, obj: Object) -> Iterator[str]:
    for version in obj["spec"].get("versions") or ():
        for schema in levels((version.get("schema") or {}).get("openAPIV3Schema")):
            name, kind = schema.get("format") or "", schema.get("type") or ""
            if (
                name
                and not checked_format(behaviour, [kind or "string"], name)
                and (kind == "string" or behaviour.applies("formats-by-type"))
            ):
                yield name


APPROVAL: Final = f"api-approved.{LABEL_DOMAIN}"
"""The annotation that definitions in groups of the Kubernetes project need."""
_REFERENCE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+\S*")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = draft.setdefault("spec", {})
    names = spec["names"] = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    names["singular"] = names.get("singular") or kind.lower()
    names["listKind"] = names.get("listKind") or (f"{kind}List" if kind else "")
    for name in ("singular", "listKind"):
        if not names[name]:
            del names[name]
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    service = at(spec, "conversion", "webhook", "clientConfig", "service")
    if isinstance(service, dict) and service.get("port") is None:
        service["port"] = 443


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    storage = [row.get("name") or "" for row in at(draft, "spec", "versions") or () if row.get("storage")]
    if old is None:
        draft["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": storage[:1] or None,
        }
        return
    status = draft.get("status")
    if status is not None and status == old.get("status"):  # otherwise the status is what is written
        known = list(status.get("storedVersions") or ())
        draft["status"] = {**status, "storedVersions": known + [name for name in storage[:1] if name not in known]}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    from simkit.kinds.apiextensions.validation.schema import ValidationOptions
    from simkit.kinds.apiextensions.validation.spec import demands_on, validate_spec

    spec = obj["spec"]
    errors = list(_own_name(obj)) if old is None else []
    if old is None:
        errors += validate_spec(behaviour, spec, ValidationOptions())
    elif spec != (old.get("spec") or {}):
        errors += validate_spec(behaviour, spec, demands_on(behaviour, spec, old.get("spec") or {}))
    if old is not None:
        errors += _fixed(spec, old)
    errors += _validate_status(behaviour, obj)
    errors += _validate_approval(obj, old)
    if spec.get("preserveUnknownFields") and not (old or {}).get("spec", {}).get("preserveUnknownFields"):
        field = "x-kubernetes-preserve" if behaviour.applies("extension-named-whole") else "x-preserve"
        detail = f"cannot set to true, set {field}-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid_value("spec.preserveUnknownFields", True, detail))
    return errors


def _validate_older(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    from simkit.kinds.apiextensions.validation.spec import demands_of_beta, validate_spec

    spec, before = obj["spec"], None if old is None else (old.get("spec") or {})
    errors = [] if spec == before else list(validate_spec(behaviour, spec, demands_of_beta(behaviour, spec, before)))
    around = _own_name(obj) if old is None else _fixed(spec, old)
    return [*around, *errors, *_validate_status(behaviour, obj)]


def _own_name(obj: Object) -> Errors:
    spec, head = obj["spec"], metadata(obj)
    wanted = f"{at(spec, 'names', 'plural') or ''}.{spec.get('group') or ''}"
    for field in ("generateName", "name"):
        name = head.get(field) or ""
        if name and name != wanted:
            yield invalid_value(f"metadata.{field}", name, 'must be spec.names.plural+"."+spec.group')


def _fixed(spec: Object, old: Object) -> Errors:
    """The errors of changed immutable fields, some of them only after the names are accepted."""
    before, names, known = old.get("spec") or {}, spec.get("names") or {}, at(old, "spec", "names") or {}
    pairs = [("spec.group", spec.get("group"), before.get("group"))]
    pairs.append(("spec.names.plural", names.get("plural"), known.get("plural")))
    if holds(old, "Established"):
        pairs.insert(0, ("spec.scope", spec.get("scope"), before.get("scope")))
        pairs.insert(1, ("spec.names.kind", names.get("kind"), known.get("kind")))
    for path, value, earlier in pairs:
        if value != earlier:
            yield invalid_value(path, value, "field is immutable")


def _validate_status(behaviour: ServedBehaviour, obj: Object) -> Errors:
    from simkit.kinds.parts.go_printing.structures import texts

    yield from _ACCEPTED(behaviour, obj, None)
    status: Mapping[str, Any] = obj.get("status") or {}
    path, stored = "status.storedVersions", status.get("storedVersions") or ()
    shown = texts(stored or None)
    if not stored:
        yield invalid_value(path, shown, "must have at least one stored version")
        return
    waiting = {name: index for index, name in enumerate(stored)}
    for version in at(obj, "spec", "versions") or ():
        name = version.get("name") or ""
        if version.get("storage") and name not in waiting:
            yield invalid_value(path, shown, f"must have the storage version {name}")
        waiting.pop(name, None)
    for name, index in waiting.items():
        yield invalid_value(f"{path}[{index}]", name, _not_kept(behaviour, name))


def _not_kept(behaviour: ServedBehaviour, version: str) -> str:
    """The text of a stored version that the definition has no more."""
    if not behaviour.applies("stored-versions-told-at-length"):
        return "must appear in spec.versions"
    return (
        f"missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions "
        f"until a storage migration ensures no data remains persisted in {version} and removes {version} from "
        "status.storedVersions"
    )


_ACCEPTED: Final = validation(row("status.acceptedNames", NAMES))
"""The check of a written status: only the names are validated, since migrators set the stored versions."""


# Groups of the project's own need an approval


def is_protected(group: str) -> bool:
    """True if a group belongs to the project."""
    return any(group == domain or group.endswith(f".{domain}") for domain in (API_DOMAIN, LABEL_DOMAIN))


def approval(obj: Object) -> tuple[str, str]:
    """The state of the approval and the reason: Missing, Bypassed, Approved or Invalid."""
    given = (metadata(obj).get("annotations") or {}).get(APPROVAL) or ""
    if not given:
        return "Missing", f'protected groups must have approval annotation "{APPROVAL}", {_REFERENCE}'
    if given.startswith("unapproved"):
        return "Bypassed", f'not approved: "{given}"'
    if _URL.fullmatch(given):
        return "Approved", f"approved in {given}"
    detail = f'with either a URL or a reason starting with "unapproved", {_REFERENCE}'
    return "Invalid", f'protected groups must have approval annotation "{APPROVAL}" {detail}'


def _validate_approval(obj: Object, old: Object | None) -> Errors:
    if not is_protected(obj["spec"].get("group") or ""):
        return
    state, reason = approval(obj)
    if old is not None and approval(old)[0] == state:
        return
    path = f"metadata.annotations[{APPROVAL}]"
    if state == "Missing":
        yield required(path, reason)
    elif state == "Invalid":
        yield invalid_value(path, (metadata(obj).get("annotations") or {})[APPROVAL], reason)


# Deletion


def _prepare_for_delete(draft: Draft) -> None:
    finalizers = list(draft["metadata"].get("finalizers") or ())
    if CLEANUP not in finalizers:
        finalizers.append(CLEANUP)
    draft["metadata"]["finalizers"] = finalizers
    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    pending = condition("Terminating", "True", "InstanceDeletionPending", text)
    moment = draft["metadata"]["deletionTimestamp"]
    draft["status"] = with_condition(draft.get("status") or {}, pending, moment)


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    warnings=format_warnings,
    raises_generation=spec_differs,
    subresources={"status": Subresource(keep_all_but_status, _ACCEPTED)},
    unqualified_finalizers=True,
    allow_unconditional_update=False,
    delete_strategy=DeleteStrategy(
        is_kept=lambda obj: not metadata(obj).get("deletionTimestamp"),
        prepare_for_delete=_prepare_for_delete,
        timestamp_only=True,
        keeps_finalizers=True,
        of_collection=DeleteStrategy(),  # definitions go at once then, and leave their objects in the store
    ),
)
STRATEGY = replace(_STABLE, older_versions={f"{EXTENSIONS_GROUP}/v1beta1": replace(_STABLE, validate=_validate_older)})
