"""Errors in definitions: names, versions, schemas, defaults, expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.kinds.apiextensions.customresourcedefinition import STRATEGY
from simkit.meta.objects import copied
from tests.releases import BASE

Body = dict[str, Any]
_ROOT = "spec.validation.openAPIV3Schema"


def _definition(schema: Mapping[str, Any] | None = None, **spec: Any) -> Body:
    root = schema if schema is not None else {"type": "object"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    body: Body = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
            **spec,
        },
    }
    STRATEGY.default(BASE, body)
    STRATEGY.prepare(BASE, body, None)
    return body


def _errors(body: Body, old: Body | None = None) -> list[str]:
    return [error.told(BASE) for error in STRATEGY.validate(BASE, body, old)]


def _spec(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


def test_names_are_filled_in() -> None:
    """Singular and list kind come from the kind, the strategy of conversion is None."""
    spec = _definition()["spec"]
    assert spec["names"] == {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    assert spec["conversion"] == {"strategy": "None"}
    assert _errors(_definition()) == []


def test_a_conversion_that_is_written_needs_a_strategy() -> None:
    """Only a conversion that is not there at all is filled in."""
    assert _errors(_definition(conversion={})) == ["spec.conversion.strategy: Required value"]


def test_a_storage_version_without_a_name_is_stored() -> None:
    """A missing name is told of as such, not as a missing stored version."""
    body = _definition(versions=[{"served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}])
    assert body["status"]["storedVersions"] == [""]
    assert not any("storedVersions" in error for error in _errors(body))


def test_versions_with_different_schemas_are_named_one_by_one() -> None:
    """Errors stand at the version where versions differ, and above all versions where they do not."""
    rows = [
        {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": {"type": kind}}}
        for name, kind in (("v1", "object"), ("v2", "string"))
    ]
    found = _errors(_definition(versions=rows))
    assert found == [
        'spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root'
    ]
    for row in rows:
        row["schema"] = {"openAPIV3Schema": {"type": "string"}}
    assert _errors(_definition(versions=rows)) == [f'{_ROOT}.type: Invalid value: "string": must be object at the root']


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (
            _spec(a={"properties": {}}),
            f"{_ROOT}.properties[spec].properties[a].type: Required value: must not be empty for specified object fields",
        ),
        (
            _spec(a={"type": "array"}),
            f"{_ROOT}.properties[spec].properties[a].items: Required value: must be specified",
        ),
        (
            {"type": "object", "anyOf": [{"properties": {"x": {"minimum": 1}}}]},
            f"{_ROOT}.properties[x]: Required value: because it is defined in {_ROOT}.anyOf[0].properties[x]",
        ),
        (
            _spec(a={"type": "string", "pattern": "("}),
            f'{_ROOT}.properties[spec].properties[a].pattern: Invalid value: "(": must be a valid regular expression, '
            "but isn't: error parsing regexp: missing closing ): `(`",
        ),
        (
            _spec(a={"type": "string", "default": 5}),
            f'{_ROOT}.properties[spec].properties[a].default: Invalid value: "integer":  in body must be of type string: '
            '"integer"',
        ),
        (
            _spec(a={"type": "object", "properties": {}, "default": {"x": 1}}),
            f"{_ROOT}.properties[spec].properties[a].default: Invalid value: "
            'map[string]interface {}{"x":1}: must not have unknown fields',
        ),
        (
            _spec(a={"type": "object", "additionalProperties": {"type": "string"}, "properties": {"b": {"type": "string"}}}),
            f"{_ROOT}.properties[spec].properties[a].additionalProperties: Forbidden: "
            "additionalProperties and properties are mutual exclusive",
        ),
        (
            _spec(a={"type": "object", "properties": {}, "$ref": "x", "uniqueItems": True}),
            f"{_ROOT}.properties[spec].properties[a].$ref: Forbidden: $ref is not supported",
        ),
        (
            _spec(a={"type": "colour"}),
            f'{_ROOT}.properties[spec].properties[a].type: Unsupported value: "colour": supported values: '
            '"array", "boolean", "integer", "number", "object", "string"',
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "x"}}}}},
            f"{_ROOT}.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata",
        ),
        (
            _spec(e={"type": "object", "x-kubernetes-embedded-resource": True, "additionalProperties": {"type": "string"}}),
            f"{_ROOT}.properties[spec].properties[e].additionalProperties: Forbidden: "
            "must not be used if x-kubernetes-embedded-resource is set",
        ),
        (
            _spec(i={"type": "object", "x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}),
            f"{_ROOT}.properties[spec].properties[i].x-kubernetes-preserve-unknown-fields: Invalid value: true: "
            "must be false if x-kubernetes-int-or-string is true",
        ),
    ],
)  # fmt: skip
def test_schema_errors(schema: Mapping[str, Any], told: str) -> None:
    """The first error of a schema that is wrong."""
    assert any(text.startswith(told) for text in _errors(_definition(schema))), _errors(_definition(schema))


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ({"$ref": "x"}, f"{_ROOT}.properties[spec].properties[a].$ref: Forbidden: $ref is not supported"),
        (
            {"type": "array", "additionalItems": False},
            f"{_ROOT}.properties[spec].properties[a].additionalItems: Forbidden: additionalItems is not supported",
        ),
        (
            {"items": [{"type": "string"}]},
            f"{_ROOT}.properties[spec].properties[a].items: Forbidden: items must be a schema object and not an array",
        ),
        (
            {"x-kubernetes-preserve-unknown-fields": False},
            f"{_ROOT}.properties[spec].properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: "
            "must be true or undefined",
        ),
        (
            {"anyOf": [{"$schema": "x"}], "x-kubernetes-validations": [{"rule": "nope"}]},
            f"{_ROOT}: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported",
        ),
    ],
)
def test_constructs_outside_structural_schemas_are_reported_alone(field: Mapping[str, Any], told: str) -> None:
    """Then neither the structure nor expressions are checked."""
    assert _errors(_definition(_spec(a=field, b={}))) == [told]


def test_a_schema_becomes_structural_with_pruning() -> None:
    """A definition of old days may stay as it is until it gives up unknown fields, or needs structure otherwise."""
    old = _definition(_spec(a={}), preserveUnknownFields=True)
    new = copied(old)
    new["spec"]["names"]["categories"] = ["all"]
    assert _errors(new, old) == []
    told = f"{_ROOT}.properties[spec].properties[a].type: Required value: must not be empty for specified object fields"
    assert _errors({**new, "spec": {**new["spec"], "preserveUnknownFields": False}}, old) == [told]
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["b"] = {"x-kubernetes-int-or-string": True}
    assert told in _errors(new, old)


def test_versions_without_schema_are_served_only_with_unknown_fields() -> None:
    """A stored definition without a schema needs one as soon as fields are"""
    old = _definition(preserveUnknownFields=True)
    del old["spec"]["versions"][0]["schema"]
    new = copied(old)
    new["spec"]["names"]["categories"] = ["all"]
    assert _errors(new, old) == []
    new["spec"]["preserveUnknownFields"] = False
    told = "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
    assert _errors(new, old) == [told]


_RULE = {"x-kubernetes-validations": [{"rule": "self > 5", "message": "too small"}]}
_EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ({"type": "integer", "default": 1, **_RULE}, '.default: Invalid value: "integer": too small'),
        (
            {"type": "array", "maxItems": 3, "default": [9, 1], "items": {"type": "integer", **_RULE}},
            '.default[1]: Invalid value: "integer": too small',
        ),
        (
            {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > oldSelf"}]},
            '.default: Invalid value: "integer": failed rule: self > oldSelf',
        ),
        (
            {
                "type": "integer",
                "default": 1,
                "x-kubernetes-validations": [{"rule": "oldSelf.hasValue()", "optionalOldSelf": True}],
            },
            '.default: Invalid value: "integer": failed rule: oldSelf.hasValue()',
        ),
        ({**_EMBEDDED, "default": {"kind": "X"}}, ".default.apiVersion: Required value: must not be empty"),
        (
            {
                **_EMBEDDED,
                "properties": {
                    "metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "a/b"}}}
                },
            },
            '.properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: '
            "metadata.name: Invalid value: \"a/b\": may not contain '/'",
        ),
    ],
)
def test_defaults_are_held_to_rules_and_to_what_objects_are(field: Mapping[str, Any], told: str) -> None:
    """Rules see the default come into being and stay; objects inside of objects need kind, apiVersion and a name."""
    assert _errors(_definition(_spec(a=field))) == [f"{_ROOT}.properties[spec].properties[a]{told}"]


def test_the_rules_of_all_defaults_have_one_budget() -> None:
    """Once it is spent, no further default is looked at."""
    rule = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"
    dear = {"type": "array", "maxItems": 60, "items": {"type": "integer"}, "default": list(range(45))}
    fields = {f"a{index:02}": {**dear, "x-kubernetes-validations": [{"rule": rule}]} for index in range(60)}
    found = [text for text in _errors(_definition(_spec(**fields))) if "default" in text]
    assert len(found) == 1
    assert "running out of cost budget" in found[0]


def test_int_or_string_may_list_its_types() -> None:
    """The two patterns in which tools write it are structural."""
    types = [{"type": "integer"}, {"type": "string"}]
    for extra in ({"anyOf": types}, {"allOf": [{"anyOf": types}, {"minLength": 1}]}):
        assert _errors(_definition(_spec(a={"x-kubernetes-int-or-string": True, **extra}))) == []


def test_rules_are_not_compiled_where_the_schema_is_wrong() -> None:
    """Expressions are looked at only when everything else is in order."""
    schema = _spec(
        a={"type": "string", "x-kubernetes-list-type": "set", "x-kubernetes-validations": [{"rule": "nope"}]}
    )
    assert len(_errors(_definition(schema))) == 1


def test_old_values_are_not_known_everywhere() -> None:
    """Items of a list without keys have no old value, not even an optional one."""
    rule = {"rule": "!oldSelf.hasValue() || self >= oldSelf.value()", "optionalOldSelf": True}
    items = {"type": "integer", "x-kubernetes-validations": [rule]}
    (told,) = _errors(_definition(_spec(a={"type": "array", "maxItems": 3, "items": items})))
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema within" in told
    assert told.endswith(".properties[spec].properties[a]")


def test_an_expression_that_was_stored_is_read_as_such() -> None:
    """Expressions that a newer server accepted do not refuse later updates of the definition."""
    schema = _spec(a={"type": "string", "maxLength": 40, "x-kubernetes-validations": [{"rule": "isIP(self)"}]})
    old = _definition(schema)
    new = copied(old)
    new["spec"]["names"]["categories"] = ["all"]
    assert _errors(new, old) == []


def test_old_faults_are_not_demanded_of_an_update() -> None:
    """A definition that was let in with a fault can still be changed elsewhere; a sound one cannot get the fault."""
    sloppy = _spec(l={"type": "array", "items": {"type": "object", "properties": {}}, "x-kubernetes-list-type": "set"})
    old, sound = _definition(sloppy), _definition(_spec())
    new = copied(old)
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "words"
    assert _errors(new, old) == []
    assert len(_errors(new, sound)) == 1


def test_a_served_definition_cannot_change_its_kind() -> None:
    """Group and plural never change, kind and scope not once the names are served."""
    old = _definition()
    new = copied(old)
    new["spec"]["names"]["kind"], new["spec"]["scope"] = "Other", "Cluster"
    assert _errors(new, old) == []
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert [text.split(":")[0] for text in _errors(new, old)] == ["spec.scope", "spec.names.kind"]


def test_stored_versions_stay_until_they_are_taken_away() -> None:
    """A version that objects are stored in cannot leave, and the new storage version is noted."""
    old = _definition()
    new = copied(old)
    new["spec"]["versions"][0]["name"] = "v2"
    STRATEGY.prepare(BASE, new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert _errors(new, old) == ['status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions']


def test_the_stored_versions_of_a_written_status_are_accepted() -> None:
    """A migrator sets the stored versions; only the names in the"""
    assert STRATEGY.subresources is not None
    check, old = STRATEGY.subresources["status"].validate, _definition()
    new = copied(old)
    new["status"]["storedVersions"] = ["v9"]
    STRATEGY.prepare(BASE, new, old)
    assert new["status"]["storedVersions"] == ["v9"]
    assert list(check(BASE, new, old)) == []
    new["status"]["acceptedNames"] = {"plural": "A"}
    assert [error.field for error in check(BASE, new, old)] == ["status.acceptedNames.plural"]


@pytest.mark.parametrize("empty", [{"additionalProperties": {}}, {"maxProperties": 0}, {"not": {}}, {"allOf": []}])
def test_fields_that_exclude_a_status_may_not_be_empty_either(empty: dict[str, Any]) -> None:
    """At the root of a schema with a status of its own also an empty alternative or a 0 is refused."""
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    schema = {"openAPIV3Schema": {"type": "object", **empty}}
    assert any(
        "fields are allowed at the root" in text
        for text in _errors(_definition(versions=[version | {"schema": schema}]))
    )


_DEFINED = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        ([".spec.a", ".map.x"], []),
        ([""], ["[0].jsonPath: Required value"]),
        ([".spec.b"], ['[0].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field']),
        (["spec.a"], ['[0].jsonPath: Invalid value: "spec.a": is an invalid path: expected [ or . but got: spec']),
        (
            [".spec['a']"],
            ["[0].jsonPath: Invalid value: \".spec['a']\": is an invalid path: array notation is not allowed"],
        ),
        ([".spec."], ['[0].jsonPath: Invalid value: ".spec.": is an invalid path: unexpected end of JSON path']),
        ([".metadata.name"], ['[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata']),
        (
            [".spec.l"],
            [
                '[0].jsonPath: Invalid value: ".spec.l": must point to a field of type string, boolean or integer. '
                "Enum string fields and strings with formats are allowed."
            ],
        ),
        ([".spec.a", ".spec.a"], ['[1].jsonPath: Duplicate value: ".spec.a"']),
        ([f".map.x{number}" for number in range(9)], [": Too many: 9: must have at most 8 items"]),
    ],
)
def test_fields_that_selectors_may_name(paths: list[str], told: list[str]) -> None:
    """They lead to scalars outside of the metadata, once each, and there are at most eight."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _DEFINED}}
    rows = [{"jsonPath": path} for path in paths]
    found = _errors(_definition(versions=[version | {"selectableFields": rows}]))
    assert found == [f"spec.selectableFields{text}" for text in told]


def test_groups_of_the_project_need_an_approval() -> None:
    """The annotation holds an address, or says that there is no approval."""
    body = _definition(group="things.k8s.io")
    body["metadata"]["name"] = "widgets.things.k8s.io"
    assert _errors(body)[0].startswith(
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups"
    )
    for value in ("https://example.com/approved", "unapproved, a trial"):
        body["metadata"]["annotations"] = {"api-approved.kubernetes.io": value}
        assert _errors(body) == []
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "yes"}
    assert "Invalid value" in _errors(body)[0]


def test_expensive_rules_are_refused_one_by_one_and_together() -> None:
    """A rule over unbounded data costs too much; bounds make it cheap."""
    rule = [{"rule": "self.all(x, self.all(y, x == y))"}]
    wide = _spec(a={"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": rule})
    assert len(_errors(_definition(wide))) == 3
    narrow = _spec(
        a={
            "type": "array",
            "maxItems": 5,
            "items": {"type": "string", "maxLength": 5},
            "x-kubernetes-validations": rule,
        }
    )
    assert _errors(_definition(narrow)) == []


def test_features_that_need_pruning() -> None:
    """Defaults and webhooks that convert are refused where unknown fields are kept, besides keeping them."""
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://hook.example.com/"}}
    body = _definition(
        _spec(a={"type": "string", "default": "x"}),
        preserveUnknownFields=True,
        conversion={"strategy": "Webhook", "webhook": webhook},
    )
    assert _errors(body) == [
        "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
        'spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true',
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields "
        "to true in spec.versions[*].schema instead",
    ]


def test_the_way_to_a_conversion_webhook() -> None:
    """It is checked as those of admission are; name and namespace are taken for each other, as on kube-apiserver."""

    def errors(**client: Any) -> list[str]:
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
        return _errors(_definition(conversion={"strategy": "Webhook", "webhook": webhook}))

    path = "spec.conversion.webhookClientConfig"
    assert errors(service={"name": "hook", "namespace": "ops", "path": "/a/b"}) == []
    assert errors(service={"namespace": "ops"}) == [
        f"{path}.service.namespace: Required value: service namespace is required"
    ]
    assert errors(service={"name": "hook", "namespace": "ops", "path": "/A", "port": 0}) == [
        f"{path}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        f'{path}.service.path: Invalid value: "/A": segment[0]: a lowercase RFC 1123 subdomain must consist of lower '
        "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
        "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ]
    assert errors(url="http://me@/x?a#b") == [
        f"{path}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        f'{path}.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
        f'{path}.url: Invalid value: "me": user information is not permitted in the URL',
        f'{path}.url: Invalid value: "b": fragments are not permitted in the URL',
        f'{path}.url: Invalid value: "a": query parameters are not permitted in the URL',
    ]
