"""The fields of ``metadata`` that the server owns, and the validation of the client's.

Upstream: k8s.io/apimachinery/pkg/api/validation/objectmeta.go, k8s.io/apiserver/pkg/registry/rest/create.go and
k8s.io/apiserver/pkg/registry/rest/update.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.validation.fields import validate_nonnegative
from simkit.kinds.parts.validation.object_meta import FOREGROUND, ORPHAN, validate_finalizers, validate_object_meta
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataCheck, NameRule
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import NameSource, timestamp
from simkit.meta.domain import NAMESPACE_FINALIZER
from simkit.meta.errors import bad_request, unexplained
from simkit.meta.fielderror import FieldError, Shown, forbidden_field, invalid_value, quoted, required
from simkit.meta.go_number import parse_uint
from simkit.meta.name_validation import dns_label, path_segment
from simkit.meta.objects import Draft, Object

# Namespace and version in the metadata that a client sends with an object


def place(metadata: Draft, namespace: str) -> None:
    """Put an object that admission left without a namespace into that of the request. Raises 400 for another one."""
    given = metadata.get("namespace") or ""
    if given == namespace:
        return
    if given and namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata.pop("namespace", None)
    if namespace:
        metadata["namespace"] = namespace


def version_number(version: str) -> int:
    """A resourceVersion as a number, 0 for none. Raises the 500 of any other text."""
    try:
        return parse_uint(version) if version else 0
    except ValueError as error:
        raise unexplained(str(error)) from None


def refuse_numbered(draft: Object) -> None:
    """Raise the 500 of a new object with a numeric resourceVersion; other texts are ignored.

    It is the last check, as in ``k8s.io/apiserver/pkg/storage/etcd3/store.go``, release 1.30.
    """
    given = draft["metadata"].get("resourceVersion")
    if not given:
        return
    try:
        version = parse_uint(given)
    except ValueError:
        return
    if version:
        raise unexplained("resourceVersion should not be set on objects to be created")


_STANDARD_FINALIZERS: Final = frozenset({ORPHAN, FOREGROUND, NAMESPACE_FINALIZER})
_LONGEST_GENERATED: Final = 63


def stamp_new(
    behaviour: ServedBehaviour, draft: Draft, name_source: NameSource, now: float, *, by_update: bool = False
) -> None:
    """Set uid, time and, if requested, a generated name of a new object; remove fields that clients may not set.

    An object of a kind without generations keeps the one that it was written with. One that an update or apply creates
    keeps the time and the grace period of its deletion too.
    """
    metadata: dict[str, Any] = draft["metadata"]
    for name in ("selfLink", "clusterName"):
        metadata.pop(name, None)
    if not metadata.get("generation"):
        metadata.pop("generation", None)
    if not by_update or not behaviour.applies("deletion-of-new-objects-kept"):
        metadata.pop("deletionTimestamp", None)
        metadata.pop("deletionGracePeriodSeconds", None)
    metadata["creationTimestamp"] = timestamp(now)
    metadata["uid"] = name_source.uid()
    if not metadata.get("name") and metadata.get("generateName"):
        prefix = metadata["generateName"][: _LONGEST_GENERATED - 5]
        metadata["name"] = prefix + name_source.suffix()


_WIPED: Final = frozenset({"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})


def wipe_system_fields(behaviour: ServedBehaviour, draft: Draft) -> None:
    """Take the fields that only the server writes out of a body that creates an object, before anybody owns them."""
    given = draft.get("metadata") or {}
    if _WIPED.isdisjoint(given) or not behaviour.applies("system-fields-wiped-first"):
        draft["metadata"] = dict(given)
    else:
        draft["metadata"] = {name: value for name, value in given.items() if name not in _WIPED}


def keep_owned(draft: Draft, live: Object) -> None:
    """Keep the fields that the server owns on an update."""
    metadata, stored = draft["metadata"], live["metadata"]
    metadata.pop("selfLink", None)
    metadata.pop("clusterName", None)
    if stored.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = stored["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in stored and metadata.get("deletionGracePeriodSeconds") is None:
        metadata["deletionGracePeriodSeconds"] = stored["deletionGracePeriodSeconds"]
    metadata["creationTimestamp"] = stored.get("creationTimestamp")
    if not metadata.get("uid") and stored.get("uid"):
        metadata["uid"] = stored["uid"]
    if stored.get("generation") is not None:
        metadata["generation"] = stored["generation"]
    else:
        metadata.pop("generation", None)


def drop_empty(metadata: dict[str, Any]) -> None:
    """Remove empty lists and maps from metadata."""
    for name in ("labels", "annotations", "finalizers", "ownerReferences", "managedFields"):
        if name in metadata and not metadata[name]:
            del metadata[name]


def validate(
    behaviour: ServedBehaviour,
    draft: Object,
    *,
    namespaced: bool,
    name_rule: NameRule,
    unqualified_finalizers: bool = False,
) -> list[FieldError]:
    """All errors in the metadata of an object, in kube-apiserver's order."""
    metadata = draft["metadata"]
    errors = _prefix_errors(metadata, name_rule)
    name = metadata.get("name")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        for text in name_rule(name, False):
            errors.append(invalid_value("metadata.name", name, text))
    namespace = metadata.get("namespace")
    if namespaced:
        if not namespace:
            errors.append(required("metadata.namespace"))
        else:
            errors += (invalid_value("metadata.namespace", namespace, wrong) for wrong in dns_label(namespace))
    elif namespace:
        errors.append(forbidden_field("metadata.namespace", "not allowed on this type"))
    if metadata.get("generation"):
        errors += validate_nonnegative("metadata.generation", metadata["generation"])
    errors += validate_object_meta(behaviour, metadata)
    if metadata.get("finalizers"):
        errors += validate_finalizers(metadata)
        if not unqualified_finalizers:
            errors += _finalizer_name_errors(metadata)
    return errors


def _prefix_errors(metadata: Mapping[str, Any], rule: NameRule) -> list[FieldError]:
    prefix = metadata.get("generateName")
    return [invalid_value("metadata.generateName", prefix, text) for text in rule(prefix, True)] if prefix else []


def _finalizer_name_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    """The errors in finalizers' names, which only built-in kinds check."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid_value(f"metadata.finalizers[{index}]", name, detail)
        for index, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _printed(name: str, value: Any) -> Any:
    """A value in the form of errors: times are not quoted, and in a format of their own."""
    if not name.endswith("Timestamp") or not value:
        return value
    return Shown(value.replace("T", " ").replace("Z", " +0000 UTC"), value)


_IMMUTABLE: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate_update(
    behaviour: ServedBehaviour,
    draft: Object,
    live: Object,
    *,
    name_rule: NameRule = path_segment,
    unqualified_finalizers: bool = False,
    checks: Sequence[MetadataCheck] = (CHANGES, WHOLE),
    shared: bool = True,
) -> list[FieldError]:
    """The errors in the metadata of an update, each as often as kube-apiserver reports it.

    It looks at it by itself and against what is stored (``shared``); then the kind does so again, as its checks say.
    """
    common, finalizers = validate_object_meta(behaviour, draft["metadata"]), validate_finalizers(draft["metadata"])
    names = [] if unqualified_finalizers else _finalizer_name_errors(draft["metadata"])
    against = _change_errors(draft["metadata"], live["metadata"]) + common
    prefixes, segments = (_prefix_errors(draft["metadata"], rule) for rule in (name_rule, path_segment))
    found = [*segments, *common, *finalizers, *against] if shared else []
    for check in checks:
        if check.asked(behaviour):
            whole = [*(prefixes if check.prefix else ()), *common, *finalizers]
            found += [*(whole if check.whole else against), *names]
    return found


def _change_errors(metadata: Mapping[str, Any], stored: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    if stored.get("deletionTimestamp"):
        new = [name for name in metadata.get("finalizers") or () if name not in (stored.get("finalizers") or ())]
        if new:
            listed = "[]string{" + ", ".join(f"{quoted(name)}" for name in new) + "}"
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers " + listed
            errors.append(forbidden_field("metadata.finalizers", detail))
    return errors + [
        invalid_value(f"metadata.{name}", _printed(name, metadata.get(name)), "field is immutable")
        for name in _IMMUTABLE
        if metadata.get(name) != stored.get(name)
    ]
