"""Validation of ``metav1.ObjectMeta``: labels, annotations, owners, finalizers; and warnings about old node labels.

Follows ``k8s.io/apimachinery/pkg/api/validation/objectmeta.go`` and ``pkg/api/node/util.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure, structures, texts
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.rules import REQUIRED, Row, by, fields, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, FieldError, invalid_value, too_long
from simkit.meta.name_validation import dns_subdomain, label_value, path_segment, qualified_name
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object
from simkit.meta.wording import Worded, told

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


VALUES_OF_OPERATOR: Final = table(
    row(
        "values",
        must.be_given("must be specified when `operator` is 'In' or 'NotIn'"),
        when=fields.equal("operator", *_WITH_VALUES),
    ),
    row(
        "values",
        must.be_absent("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        when=fields.equal("operator", *_WITHOUT_VALUES),
    ),
)
"""The check of whether an expression has the values that its operator needs."""
QUALIFIED: Final = must.be(qualified_name)


def known_operator(*operators: str) -> Row:
    """The row of the operator of an expression."""
    return row("operator", must.hold(lambda operator: operator in operators, "not a valid selector operator"), zero="")


_EXPRESSION: Final = table(
    VALUES_OF_OPERATOR,
    known_operator(*_WITH_VALUES, *_WITHOUT_VALUES),
    row("key", QUALIFIED, zero=""),
)
_OF_LABELS: Final = table(_EXPRESSION, row("values[]", must.be(label_value), since="values-of-selectors-checked"))


def validate_label_selector(
    behaviour: ServedBehaviour, selector: Object | None, path: str, *, any_value: bool = False
) -> Sequence[FieldError]:
    """The errors of a selector at a path; an absent one is valid.

    Parameters
    ----------
    any_value
        Whether expressions may list values that no label can have.
    """
    selector, check = selector or {}, _EXPRESSION if any_value else _OF_LABELS
    errors = list(validate_labels(behaviour, f"{path}.matchLabels", selector.get("matchLabels") or {}))
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        errors += placed(f"{path}.matchExpressions[{index}]", check(behaviour, expression))
    return errors


LABEL_SELECTOR: Final = by(lambda behaviour, path, selector: validate_label_selector(behaviour, selector, path))


_ANNOTATIONS_LIMIT: Final = 256 * 1024
"""The most bytes of all keys and values together."""


def validate_labels(behaviour: ServedBehaviour, path: str, labels: Mapping[str, str]) -> Errors:
    """The errors of a map of labels."""
    for key, value in labels.items():
        yield from (invalid_value(path, key, text) for text in qualified_name(key))
        yield from (invalid_value(path, value, text) for text in label_value(value))


def validate_annotations(behaviour: ServedBehaviour, path: str, annotations: Mapping[str, str]) -> Errors:
    """The errors of a map of annotations; their keys are checked in lower case."""
    yield from (invalid_value(path, key, text) for key in annotations for text in qualified_name(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield too_long(path, _ANNOTATIONS_LIMIT)


FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


def validate_object_meta(
    behaviour: ServedBehaviour, metadata: Mapping[str, Any], field: str = "metadata"
) -> list[FieldError]:
    """The errors of labels, annotations and owners."""
    errors: list[FieldError] = []
    if labels := metadata.get("labels"):
        errors += validate_labels(behaviour, f"{field}.labels", labels)
    if annotations := metadata.get("annotations"):
        errors += validate_annotations(behaviour, f"{field}.annotations", annotations)
    if owners := metadata.get("ownerReferences"):
        errors += _validate_owner(behaviour, owners, f"{field}.ownerReferences")
    return errors


def _validate_owner(behaviour: ServedBehaviour, owners: Sequence[Mapping[str, Any]], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller, printed = "", None
    for owner in owners:
        errors += _validate_one_owner(owner, field)
        shown = _shown_owner(behaviour, owner)
        if owner.get("controller"):
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {shown}'
                )
                printed = printed or structures("v1.OwnerReference", owners)  # once: there may be an error for each
                errors.append(invalid_value(field, printed, detail))
            else:
                controller = shown
    return errors


def _shown_owner(behaviour: ServedBehaviour, owner: Mapping[str, Any]) -> str:
    """An owner as errors name it."""
    name: str = owner.get("name", "")
    return f"{owner.get('kind', '')}/{name}" if behaviour.applies("owners-told-with-kinds") else name


_ALONE, _EMPTY = "owner-errors-name-field-alone", "must not be empty"


def _validate_one_owner(owner: Mapping[str, Any], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version = owner.get("apiVersion", "")
    group_version = GroupVersion.parse(api_version) if api_version.count("/") <= 1 else GroupVersion("", "")
    if not group_version.version:
        errors.append(invalid_value(f"{field}.apiVersion", api_version, "version must not be empty"))
    errors += [
        invalid_value(f"{field}.{name}", owner.get(name, ""), Worded(_ALONE, _EMPTY, f"{name} {_EMPTY}"))
        for name in ("kind", "name", "uid")
        if not owner.get(name)
    ]
    if (group_version, owner.get("kind")) == (GroupVersion("", "v1"), "Event"):
        text = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(invalid_value(field, structure("v1.OwnerReference", owner), text))
    return errors


def validate_finalizers(metadata: Mapping[str, Any], field: str = "metadata") -> list[FieldError]:
    """The errors of finalizers of any kind."""
    field, finalizers = f"{field}.finalizers", metadata.get("finalizers")
    if not finalizers:
        return []
    errors = [invalid_value(field, name, text) for name in finalizers for text in qualified_name(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(invalid_value(field, texts(finalizers), detail))
    return errors


_TOLD: Final = "references-told-as-required"
_KIND_AND_NAME: Final = table(
    row("kind", must.be_given(Worded(_TOLD, "", "kind is required")), must.be(path_segment)),
    row("name", must.be_given(Worded(_TOLD, "", "name is required")), must.be(path_segment)),
)


def validate_local_reference(behaviour: ServedBehaviour, path: str, reference: Object | None) -> Errors:
    """The errors of ``apiGroup``, ``kind`` and ``name`` of a reference."""
    if reference is None:
        return
    if reference.get("apiGroup") is not None:
        yield from validate_text(f"{path}.apiGroup", reference["apiGroup"], dns_subdomain)
    yield from placed(path, _KIND_AND_NAME(behaviour, reference))


def validate_version(path: str, version: str, *, core: bool) -> Errors:
    """The errors of an API version, which must be one of a named group unless the ``core`` group will do."""
    if version.count("/") > 1:
        yield invalid_value(path, version, f"unexpected GroupVersion string: {version}")
    elif not version.rpartition("/")[0] and not core:
        yield invalid_value(path, version, "apiVersion must specify API group")


SCALED_REFERENCE: Final = table(
    row("kind", REQUIRED, must.be(path_segment)),
    row("name", REQUIRED, must.be(path_segment)),
)
"""The check of ``kind`` and ``name`` of a reference to a scaled or measured object."""


_NEWER: Final = {
    label("arch", "beta"): ("v1.14", label("arch")),
    label("os", "beta"): ("v1.14", label("os")),
    label("region", "failure-domain.beta"): ("v1.17", label("region", "topology")),
    label("zone", "failure-domain.beta"): ("v1.17", label("zone", "topology")),
    label("instance-type", "beta"): ("v1.17", label("instance-type", "node")),
}


_LATER: Final = {
    label("created-by", "app"): "deprecated since v1.9",
    label("preferAvoidPods", "scheduler.alpha"): "deprecated since v1.22; use Taints and Tolerations instead",
    label("master", "node-role"): f'use "{label("control-plane", "node-role")}" instead',
}


def deprecation(behaviour: ServedBehaviour, key: str) -> str:
    """The deprecation of a label: its release and the new label; empty for any other label.

    Examples
    --------
    >>> deprecation(ServedBehaviour(30), "beta.kubernetes.io/os")
    'deprecated since v1.14; use "kubernetes.io/os" instead'
    """
    if key in _LATER and behaviour.applies("more-node-labels-deprecated"):
        return _LATER[key]
    if key not in _NEWER:
        return ""
    since, instead = _NEWER[key]
    return f'deprecated since {since}; use "{instead}" instead'


def newer_label(key: str) -> str | None:
    """The replacement of a deprecated label; None for any other label."""
    return _NEWER[key][1] if key in _NEWER else None


def expression_warnings(
    behaviour: ServedBehaviour, path: str, term: Object, *, check_values: bool = False
) -> Iterator[str]:
    """The warnings about the expressions of a selector, or of a term of one, at a path."""
    for index, one in enumerate(term.get("matchExpressions") or ()):
        key = one.get("key") or ""
        if deprecation(behaviour, key):
            yield f"{path}.matchExpressions[{index}].key: {key} is {deprecation(behaviour, key)}"
        if check_values and behaviour.applies("values-of-preferred-affinity-warned"):
            for number, value in enumerate(one.get("values") or ()):
                for wrong in label_value(value):
                    text = f"{value} is invalid, {told(wrong, behaviour)}"
                    yield f"{path}.matchExpressions[{index}].values[{number}]: {text}"


def selector_warnings(behaviour: ServedBehaviour, path: str, selector: Object) -> Iterator[str]:
    """The warnings about a label selector at a path."""
    yield from expression_warnings(behaviour, path, selector)
    for key in selector.get("matchLabels") or ():
        if deprecation(behaviour, key):
            yield f"{path}.matchLabels.{key}: {deprecation(behaviour, key)}"
