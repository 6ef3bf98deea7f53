"""Validation of the spec of a CustomResourceDefinition, in the order of kube-apiserver.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.kinds.apiextensions.internal_form import Internal, Version, internal_of, shown_schema
from simkit.kinds.apiextensions.validation.defaults import unpruned_defaults, validate_default
from simkit.kinds.apiextensions.validation.parts import (
    validate_column,
    validate_name,
    validate_selectable,
    validate_subresource,
    validate_warning,
)
from simkit.kinds.apiextensions.validation.schema import (
    Costs,
    ValidationOptions,
    Visit,
    validate_level,
    validate_map_key,
    validate_set,
)
from simkit.kinds.apiextensions.validation.structural import unreadable, validate_structure
from simkit.kinds.parts.admission.webhook_configuration import validate_client
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.validation.fields import repeats
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label, dns_subdomain
from simkit.meta.objects import Object
from simkit.meta.wording import Worded
from simkit.schema.catalogue import Catalogue
from simkit.schema.custom.structural import row_of, schema_of
from simkit.schema.structural import Schema

_PATH: Final = "spec.conversion"
_CLIENT: Final = f"{_PATH}.webhookClientConfig"
_VERSIONS: Final = f"{_PATH}.conversionReviewVersions"
_STRATEGIES: Final = ("None", "Webhook")


def validate_conversion(conversion: Object | None, *, recognized: bool) -> Iterator[FieldError]:
    """The errors of a conversion; ``recognized``: the review versions must include one that the server knows."""
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    if not strategy:
        yield required(f"{_PATH}.strategy")
    elif strategy not in _STRATEGIES:
        yield unsupported(f"{_PATH}.strategy", strategy, _STRATEGIES)
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden_field(_CLIENT, detail)
        if versions:
            yield forbidden_field(_VERSIONS, detail)
        return
    if client is None:
        yield required(_CLIENT, "required when strategy is set to Webhook")
    else:
        yield from validate_client(_CLIENT, client)
    yield from _validate_review_versions(versions, recognized)


def _validate_review_versions(versions: Sequence[str], recognized: bool) -> Iterator[FieldError]:
    if not versions:
        yield required(_VERSIONS)
        return
    again = repeats(versions)
    for index, version in enumerate(versions):
        if index in again:
            yield invalid_value(f"{_VERSIONS}[{index}]", version, "duplicate version")
            continue
        yield from (invalid_value(f"{_VERSIONS}[{index}]", version, text) for text in dns1035_label(version))
    if recognized and not {"v1", "v1beta1"} & set(versions):
        yield invalid_value(_VERSIONS, texts(versions), "must include at least one of v1, v1beta1")


Properties = Mapping[str, Any]
_SCOPES: Final = ("Cluster", "Namespaced")
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


def validate_spec(behaviour: ServedBehaviour, spec: Object, options: ValidationOptions) -> Iterator[FieldError]:
    """All errors of the spec of a definition."""
    internal = internal_of(spec)
    yield from _validate_group(spec.get("group") or "")
    scope = spec.get("scope") or ""
    if not scope:
        yield required("spec.scope")
    elif scope not in _SCOPES:
        yield unsupported("spec.scope", scope, _SCOPES)
    if options.schemas and (internal.shared.get("schema") or {}).get("openAPIV3Schema") is None:
        for index, version in enumerate(internal.versions):
            if (version.schema or {}).get("openAPIV3Schema") is None:
                yield required(
                    f"spec.versions[{index}].schema.openAPIV3Schema",
                    Worded("details-without-field-names", "", "schemas are required"),
                )
    elif not options.schemas and not spec.get("preserveUnknownFields"):
        for index, row in enumerate(spec.get("versions") or ()):
            if row.get("served") and (row.get("schema") or {}).get("openAPIV3Schema") is None:
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
    yield from validate_conversion(spec.get("conversion"), recognized=options.review_versions)


def _validate_group(group: str) -> Iterator[FieldError]:
    if not group:
        yield required("spec.group")
    elif wrong := dns_subdomain(group):
        yield invalid_value("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")


def _validate_version(
    behaviour: ServedBehaviour, version: Version, path: str, internal: Internal, options: ValidationOptions
) -> Iterator[FieldError]:
    wrong = dns1035_label(version.name)
    if wrong:
        yield invalid_value(f"{path}.name", version.name, ",".join(wrong))
    yield from validate_warning(version.deprecated, version.warning, f"{path}.deprecationWarning")
    own = replace(options, costs_each=version.name not in options.unchanged)
    with_status = internal.subresources_of(version).get("status") is not None
    yield from _validate_validation(behaviour, version.schema, f"{path}.schema", own, with_status=with_status)
    yield from validate_subresource(version.subresources, f"{path}.subresources")
    for index, column in enumerate(version.columns):
        yield from validate_column(column, f"{path}.additionalPrinterColumns[{index}]")
    without = "version.schema.openAPIV3Schema is not included"
    yield from validate_selectable(
        version.selectable, _selected_from(version.schema), f"{path}.selectableFields", without
    )


def _set_of_versions(internal: Internal) -> Iterator[FieldError]:
    names = [version.name for version in internal.versions]
    if len(set(names)) < len(names):
        yield invalid_value("spec.versions", internal.printed_versions(), "must contain unique version names")
    if sum(version.storage for version in internal.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield invalid_value("spec.versions", internal.printed_versions(), detail)
    if internal.version and (wrong := dns1035_label(internal.version)):
        yield invalid_value("spec.version", internal.version, ",".join(wrong))


def _validate_shared(
    behaviour: ServedBehaviour, internal: Internal, options: ValidationOptions
) -> Iterator[FieldError]:
    names: Properties = internal.spec.get("names") or {}
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    yield from validate_name(names, "spec.names")
    with_status = any(internal.subresources_of(each).get("status") is not None for each in internal.versions)
    own = replace(options, costs_each=not set(options.unchanged) & {each.name for each in internal.versions})
    yield from _validate_validation(
        behaviour, internal.shared.get("schema"), "spec.validation", own, with_status=with_status
    )
    yield from validate_subresource(internal.shared.get("subresources"), "spec.subresources")
    for index, column in enumerate(internal.shared.get("additionalPrinterColumns") or ()):
        yield from validate_column(column, f"spec.additionalPrinterColumns[{index}]")
    selectable, schema = internal.shared.get("selectableFields") or (), _selected_from(internal.shared.get("schema"))
    yield from validate_selectable(selectable, schema, "spec.selectableFields", "validations.schema is included")


def _selected_from(validation: Properties | None) -> Schema | None:
    schema = (validation or {}).get("openAPIV3Schema")
    return None if schema is None else Schema(row_of(schema), Catalogue.for_release("1.30").definition)


def _validate_validation(
    behaviour: ServedBehaviour,
    validation: Properties | None,
    path: str,
    options: ValidationOptions,
    *,
    with_status: bool,
) -> Iterator[FieldError]:
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return
    path = f"{path}.openAPIV3Schema"
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
) -> Iterator[FieldError]:
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


def _root_with_status(schema: Properties, path: str) -> Iterator[FieldError]:
    if schema.get("type") and schema["type"] != "object":
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid_value(f"{path}.type", schema["type"], detail)
    elif any(_is_set(schema.get(name)) for name in _WITHOUT_STATUS):
        detail = (
            f"only [{_WITH_STATUS}] fields are allowed at the root of the schema if the status subresource is enabled"
        )
        yield invalid_value(path, shown_schema(schema), detail)


def _is_set(value: Any) -> bool:
    """True if kube-apiserver has a value there, including empty ones and 0."""
    return value is not None and value is not False and value != ""


# Updates


def demands_on(behaviour: ServedBehaviour, spec: Object, old: Object) -> ValidationOptions:
    """The requirements on a changed spec, without those that the old spec violates."""
    resolve = Catalogue.for_release("1.30").definition
    given = list(_schemas(old))
    structural = not any(unreadable(schema) or validate_structure(behaviour, schema, "") for schema in given)
    levels = [level for schema in given for level in _levels(schema)]
    webhook = (old.get("conversion") or {}).get("webhook") or {}
    reviews = webhook.get("conversionReviewVersions") or ()
    return ValidationOptions(
        structural=structural,
        pruned_defaults=not (structural and any(unpruned_defaults(schema, resolve) for schema in given)),
        atomic_sets=not any(True for level in levels for _ in validate_set(level, "")),
        map_keys=not any(True for level in levels for _ in validate_map_key(level, "")),
        types=not any(level.get("type") not in (None, "", *_OPENAPI_TYPES) for level in levels),
        schemas=len(given) == len(old.get("versions") or ()),
        review_versions=not reviews or bool({"v1", "v1beta1"} & set(reviews)),
        known=frozenset(
            rule.get("rule") or "" for level in levels for rule in level.get("x-kubernetes-validations") or ()
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
    for row in spec.get("versions") or ():
        schema = (row.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield schema


def _has_default(schema: Properties) -> bool:
    return any(level.get("default") is not None for level in _levels(schema))


_DEMANDING: Final = (
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-list-type", "x-kubernetes-validations", "default"),
)
"""Properties that only a structural schema may have."""


def _needs_structure(schema: Properties) -> bool:
    return any(
        level.get("x-kubernetes-preserve-unknown-fields") is not None or any(level.get(name) for name in _DEMANDING)
        for level in _levels(schema)
    )


_OPENAPI_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")


def _unchanged(spec: Object, old: Object) -> frozenset[str]:
    before = {row.get("name"): row.get("schema") for row in old.get("versions") or ()}
    rows: Sequence[Object] = spec.get("versions") or ()
    return frozenset(
        row["name"] for row in rows if row.get("name") in before and row.get("schema") == before[row["name"]]
    )


def _levels(schema: Properties) -> Iterator[Properties]:
    yield schema
    below = [schema.get("items"), schema.get("additionalProperties"), schema.get("not")]
    below += (schema.get("properties") or {}).values()
    for name in ("allOf", "anyOf", "oneOf"):
        below += schema.get(name) or ()
    for inner in below:
        if isinstance(inner, Mapping):
            yield from _levels(inner)
