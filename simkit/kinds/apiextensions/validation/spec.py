"""Validation of the spec of a CustomResourceDefinition, in the order of kube-apiserver.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from simkit.kinds.apiextensions.validation.defaults import unpruned_defaults, validate_default
from simkit.kinds.apiextensions.validation.parts import NAMES, VERSION_PARTS, WARNING, at_once, validate_selectable
from simkit.kinds.apiextensions.validation.schema import (
    Costs,
    ValidationOptions,
    Visit,
    validate_level,
    validate_map_key,
    validate_set,
)
from simkit.kinds.apiextensions.validation.structural import levels, unreadable, validate_structure
from simkit.kinds.parts.admission_requests import CLIENT, validate_review_versions
from simkit.kinds.parts.go_printing.structures import structure, structures
from simkit.kinds.rules import REQUIRED, Check, by, fields, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, required
from simkit.meta.name_validation import dns1035_label, dns_subdomain
from simkit.meta.objects import Object
from simkit.meta.wording import Worded, Written
from simkit.schema.catalogue import Catalogue
from simkit.schema.custom.structural import row_of, schema_of
from simkit.schema.structural import Schema

_HOOKED: Final = fields.equal("strategy", "Webhook")
_UNHOOKED: Final = "should not be set when strategy is not set to Webhook"
_CLIENT, _REVIEWS = "webhook.clientConfig", "webhook.conversionReviewVersions"
_SHOWN_CLIENT, _SHOWN_REVIEWS = "webhookClientConfig", "conversionReviewVersions"


def _conversion(*, recognized: bool) -> Check:
    """The check of a conversion; ``recognized``: the review versions must include one that the server knows."""

    def reviews(behaviour: ServedBehaviour, path: str, versions: Sequence[str]) -> Errors:
        return validate_review_versions(path, versions, recognized=recognized)

    return table(
        row("strategy", REQUIRED, must.be_one_of("None", "Webhook")),
        row(_CLIENT, must.be_absent(_UNHOOKED, pointer=True), unless=_HOOKED, told=_SHOWN_CLIENT),
        row(_REVIEWS, must.be_absent(_UNHOOKED), unless=_HOOKED, told=_SHOWN_REVIEWS),
        row(
            _CLIENT,
            must.be_given("required when strategy is set to Webhook", pointer=True),
            CLIENT,
            when=_HOOKED,
            told=_SHOWN_CLIENT,
        ),
        row(_REVIEWS, REQUIRED, by(reviews), when=_HOOKED, told=_SHOWN_REVIEWS),
    )


_ANY_CONVERSION, _READ_CONVERSION = _conversion(recognized=False), _conversion(recognized=True)
Properties = Mapping[str, Any]
_HEAD: Final = table(
    row(
        "group",
        REQUIRED,
        at_once(dns_subdomain),
        must.hold(lambda group: "." in group, "should be a domain with at least one dot"),
    ),
    row("scope", REQUIRED, must.be_one_of("Cluster", "Namespaced")),
)
_NAMES: Final = table(
    *(row(f"names.{name}", REQUIRED) for name in ("plural", "singular", "kind", "listKind")), row("names", NAMES)
)
_VERSION_NAME: Final = row("name", at_once(dns1035_label), zero="")
_WITH_STATUS: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_WITHOUT_STATUS: Final = (
    *("$ref", "$schema", "id", "additionalItems", "additionalProperties", "allOf", "anyOf", "definitions"),
    *("dependencies", "enum", "maxProperties", "minProperties", "not", "nullable", "oneOf", "patternProperties"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-list-type", "x-kubernetes-map-type", "default"),
)
"""Fields forbidden at the root of a schema whose kind has a status subresource."""


def validate_spec(behaviour: ServedBehaviour, spec: Object, options: ValidationOptions) -> Errors:
    """All errors of the spec of a definition."""
    internal = internal_of(spec)
    yield from placed("spec", _HEAD(behaviour, spec))
    if options.schemas and (internal.shared.get("schema") or {}).get("openAPIV3Schema") is None:
        for index, version in enumerate(internal.versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield required(
                    f"spec.versions[{index}].schema.openAPIV3Schema",
                    Worded("details-without-field-names", "", "schemas are required"),
                )
    elif not options.schemas and not spec.get("preserveUnknownFields"):
        for index, version in enumerate(spec.get("versions") or ()):
            if version.get("served") and (version.get("schema") or {}).get("openAPIV3Schema") is None:
                detail = "because otherwise all fields are pruned"
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema", detail)
    if not spec.get("preserveUnknownFields") or any(map(_needs_structure, _schemas(spec))):
        options = replace(options, structural=True)
    if options.defaults and spec.get("preserveUnknownFields") and any(map(_has_default, _schemas(spec))):
        detail = "must be false in order to use defaults in the schema"
        yield invalid_value("spec.preserveUnknownFields", True, detail)
    for index, version in enumerate(internal.versions):
        yield from _validate_version(behaviour, version, f"spec.versions[{index}]", internal, options)
    yield from _set_of_versions(internal)
    yield from _validate_shared(behaviour, internal, options)
    strategy = (spec.get("conversion") or {}).get("strategy") or ""
    if spec.get("preserveUnknownFields") and spec.get("conversion") and strategy != "None":
        yield invalid_value("spec.conversion.strategy", strategy, "must be None if spec.preserveUnknownFields is true")
    if spec.get("conversion") is not None:
        conversion = _READ_CONVERSION if options.review_versions else _ANY_CONVERSION
        yield from placed("spec.conversion", conversion(behaviour, spec["conversion"]))


def _validate_version(
    behaviour: ServedBehaviour, version: Object, path: str, internal: Internal, options: ValidationOptions
) -> Errors:
    yield from placed(path, [*_VERSION_NAME(behaviour, version), *WARNING(behaviour, version)])
    own = replace(options, costs_each=(version.get("name") or "") not in options.unchanged)
    with_status, unread = internal.has_status(version), "version.schema.openAPIV3Schema is not included"
    yield from _validate_parts(behaviour, version, path, "schema", own, with_status=with_status, unread=unread)


def _validate_parts(
    behaviour: ServedBehaviour,
    parts: Properties,
    path: str,
    schema_name: str,
    options: ValidationOptions,
    *,
    with_status: bool,
    unread: str,
) -> Errors:
    """The errors of the parts of one version, or of those that all have in common."""
    schema = (parts.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        where = f"{path}.{schema_name}.openAPIV3Schema"
        yield from _validate_root(behaviour, schema, where, options, with_status=with_status)
    yield from placed(path, VERSION_PARTS(behaviour, parts))
    node = None if schema is None else Schema(row_of(schema), Catalogue.for_release("1.30").definition)
    yield from validate_selectable(parts.get("selectableFields") or (), node, f"{path}.selectableFields", unread)


def _set_of_versions(internal: Internal) -> Errors:
    names = [version.get("name") or "" for version in internal.versions]
    if len(set(names)) < len(names):
        yield invalid_value("spec.versions", internal.printed_versions(), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in internal.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield invalid_value("spec.versions", internal.printed_versions(), detail)
    if internal.version and (wrong := dns1035_label(internal.version)):
        yield invalid_value("spec.version", internal.version, ",".join(wrong))


def _validate_shared(behaviour: ServedBehaviour, internal: Internal, options: ValidationOptions) -> Errors:
    yield from placed("spec", _NAMES(behaviour, internal.spec))
    with_status = any(map(internal.has_status, internal.versions))
    own = replace(options, costs_each=not options.unchanged & {each.get("name") or "" for each in internal.versions})
    unread = "validations.schema is included"
    yield from _validate_parts(
        behaviour, internal.shared, "spec", "validation", own, with_status=with_status, unread=unread
    )


def _validate_root(
    behaviour: ServedBehaviour, schema: Properties, path: str, options: ValidationOptions, *, with_status: bool
) -> Errors:
    why = unreadable(schema) if options.structural else ""
    structural = options.structural and not why
    found = [
        *(_root_with_status(schema, path) if with_status else ()),
        *_validate_schema(behaviour, schema, path, options, structural=structural),
    ]
    yield from found
    if why and not found:
        yield invalid_value(path, "", why)


def _validate_schema(
    behaviour: ServedBehaviour, schema: Properties, path: str, options: ValidationOptions, *, structural: bool
) -> Errors:
    if schema.get("nullable"):
        yield forbidden_field(f"{path}.nullable", "nullable cannot be true at the root")
    resolve = Catalogue.for_release("1.30").definition
    broken = validate_structure(behaviour, schema, path) if structural else []
    if structural and not broken:
        broken = validate_default(behaviour, schema, path, resolve, pruned=options.pruned_defaults)
    yield from broken
    costs = None
    if structural and not broken:
        costs = Costs(options.known, options.costs_each)
    no_default = None if options.defaults else ""
    visit = Visit(options, costs, root=True, no_default=no_default, node=schema_of(schema, resolve))
    found = validate_level(behaviour, schema, path, visit)
    yield from found.schema
    yield from found.rules
    if costs is not None:
        yield from costs.errors(path)


def _root_with_status(schema: Properties, path: str) -> Errors:
    if schema.get("type") and schema["type"] != "object":
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid_value(f"{path}.type", schema["type"], detail)
    elif any(_is_set(schema.get(name)) for name in _WITHOUT_STATUS):
        detail = (
            f"only [{_WITH_STATUS}] fields are allowed at the root of the schema if the status subresource is enabled"
        )
        yield invalid_value(path, structure("apiextensions.JSONSchemaProps", schema), detail)


def _is_set(value: Any) -> bool:
    """True if kube-apiserver has a value there, including empty ones and 0."""
    return value is not None and value is not False and value != ""


# Updates


def demands_on(behaviour: ServedBehaviour, spec: Object, old: Object) -> ValidationOptions:
    """The requirements on a changed spec, without those that the old spec violates."""
    resolve = Catalogue.for_release("1.30").definition
    given = list(_schemas(old))
    structural = not any(unreadable(schema) or validate_structure(behaviour, schema, "") for schema in given)
    every = [level for schema in given for level in levels(schema)]
    webhook = (old.get("conversion") or {}).get("webhook") or {}
    reviews = webhook.get("conversionReviewVersions") or ()
    return ValidationOptions(
        structural=structural,
        pruned_defaults=not (structural and any(unpruned_defaults(schema, resolve) for schema in given)),
        atomic_sets=not any(True for level in every for _ in validate_set(level, "")),
        map_keys=not any(True for level in every for _ in validate_map_key(level, "")),
        types=not any(level.get("type") not in (None, "", *_OPENAPI_TYPES) for level in every),
        schemas=len(given) == len(old.get("versions") or ()),
        review_versions=not reviews or bool({"v1", "v1beta1"} & set(reviews)),
        known=frozenset(
            rule.get("rule") or "" for level in every for rule in level.get("x-kubernetes-validations") or ()
        ),
        unchanged=_unchanged(spec, old),
    )


def demands_of_beta(behaviour: ServedBehaviour, spec: Object, old: Object | None) -> ValidationOptions:
    """The requirements of v1beta1: a schema may be missing or not structural, and may have no defaults."""
    known = ValidationOptions() if old is None else demands_on(behaviour, spec, old)
    defaults = any(map(_has_default, _schemas(old or {})))
    return replace(known, structural=False, types=False, schemas=False, defaults=defaults)


def _schemas(spec: Object) -> Iterator[Properties]:
    """The schemas of all versions with one."""
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield schema


def _has_default(schema: Properties) -> bool:
    return any(level.get("default") is not None for level in levels(schema))


_DEMANDING: Final = (
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-list-type", "x-kubernetes-validations", "default"),
)
"""Properties that only a structural schema may have."""


def _needs_structure(schema: Properties) -> bool:
    return any(
        level.get("x-kubernetes-preserve-unknown-fields") is not None or any(level.get(name) for name in _DEMANDING)
        for level in levels(schema)
    )


_OPENAPI_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")


def _unchanged(spec: Object, old: Object) -> frozenset[str]:
    before = {row.get("name"): row.get("schema") for row in old.get("versions") or ()}
    rows: Sequence[Object] = spec.get("versions") or ()
    return frozenset(
        row["name"] for row in rows if row.get("name") in before and row.get("schema") == before[row["name"]]
    )


_PARTS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


@dataclass(frozen=True, slots=True)
class Internal:
    """A definition's spec in the internal version."""

    spec: Object
    versions: Sequence[Object]
    """The versions without the parts that all have in common."""
    shared: Mapping[str, Any]
    """The parts common to all versions, by their names in a version."""

    @property
    def version(self) -> str:
        return str(self.versions[0].get("name") or "") if self.versions else ""

    def has_status(self, version: Object) -> bool:
        """True if a version has the subresource status, which may be shared or its own."""
        found = version.get("subresources") or self.shared.get("subresources") or {}
        return found.get("status") is not None

    def printed_versions(self) -> Written:
        """All versions as errors show them, where an empty list is as good as none."""
        listed = [{name: value for name, value in each.items() if value != []} for each in self.versions]
        given = None if self.spec.get("versions") is None else listed
        return structures("apiextensions.CustomResourceDefinitionVersion", given)


def internal_of(spec: Object) -> Internal:
    """The internal form of a spec."""
    rows: Sequence[Object] = spec.get("versions") or ()
    common = [part for part in _PARTS if rows and all(row.get(part) == rows[0].get(part) for row in rows)]
    versions = [{name: value for name, value in row.items() if name not in common} for row in rows]
    return Internal(spec, versions, {part: rows[0].get(part) for part in common})
