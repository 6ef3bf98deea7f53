"""The fields of ``metadata`` that the server owns, and the checks of those that the client does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.gotext import texts
from simkit.kinds.parts.metadata_maps import annotation_errors, label_errors
from simkit.kinds.parts.structure_text import structure, structures
from simkit.kinds.rules import NameRule
from simkit.meta.clock import Chance, timestamp
from simkit.meta.domain import NAMESPACE_FINALIZER
from simkit.meta.fielderror import FieldError, Shown, forbidden_field, invalid_value, required
from simkit.meta.format import dns_label, qualified_name
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Draft, Object

_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", NAMESPACE_FINALIZER})
_LONGEST_GENERATED: Final = 63
FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


def stamp_new(draft: Draft, chance: Chance, now: float) -> None:
    """Give a new object its uid, time and, if asked, a generated name; take away what clients may not set."""
    metadata: dict[str, Any] = draft["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"):
        metadata.pop(name, None)
    metadata["creationTimestamp"] = timestamp(now)
    metadata["uid"] = chance.uid()
    if not metadata.get("name") and metadata.get("generateName"):
        prefix = metadata["generateName"][: _LONGEST_GENERATED - 5]
        metadata["name"] = prefix + chance.suffix()


def keep_owned(draft: Draft, live: Object) -> None:
    """On an update: what the server owns stays as it is unless a rule says otherwise later."""
    metadata, stored = draft["metadata"], live["metadata"]
    metadata.pop("selfLink", None)
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
    """Empty lists and maps in metadata are not written back."""
    for name in ("labels", "annotations", "finalizers", "ownerReferences", "managedFields"):
        if name in metadata and not metadata[name]:
            del metadata[name]


def validate(
    draft: Object, *, namespaced: bool, name_rule: NameRule, plain_finalizers: bool = False
) -> list[FieldError]:
    """All that is wrong with the metadata of an object, in the real server's order."""
    metadata = draft["metadata"]
    errors: list[FieldError] = []
    prefix = metadata.get("generateName")
    if prefix:
        errors += [invalid_value("metadata.generateName", prefix, text) for text in name_rule(prefix, True)]
    name = metadata.get("name")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid_value("metadata.name", name, text) for text in name_rule(name, False)]
    namespace = metadata.get("namespace")
    if namespaced:
        if not namespace:
            errors.append(required("metadata.namespace"))
        else:
            errors += [invalid_value("metadata.namespace", namespace, text) for text in dns_label(namespace)]
    elif namespace:
        errors.append(forbidden_field("metadata.namespace", "not allowed on this type"))
    errors += _common_errors(metadata) + _finalizer_errors(metadata)
    return errors if plain_finalizers else errors + _finalizer_name_errors(metadata)


def _common_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    errors += label_errors(metadata.get("labels") or {}, "metadata.labels")
    errors += annotation_errors(metadata.get("annotations") or {}, "metadata.annotations")
    return errors + _owner_errors(metadata.get("ownerReferences") or ())


def _owner_errors(owners: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    field = "metadata.ownerReferences"
    errors: list[FieldError] = []
    controller = ""
    for owner in owners:
        errors += _one_owner_errors(owner, field)
        shown = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if owner.get("controller"):
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {shown}'
                )
                errors.append(invalid_value(field, structures("v1.OwnerReference", owners), detail))
            else:
                controller = shown
    return errors


def _one_owner_errors(owner: Mapping[str, Any], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version = owner.get("apiVersion", "")
    group_version = GroupVersion.parse(api_version) if api_version.count("/") <= 1 else GroupVersion("", "")
    if not group_version.version:
        errors.append(invalid_value(f"{field}.apiVersion", api_version, "version must not be empty"))
    errors += [
        invalid_value(f"{field}.{name}", owner.get(name, ""), f"{name} must not be empty")
        for name in ("kind", "name", "uid")
        if not owner.get(name)
    ]
    if (group_version, owner.get("kind")) == (GroupVersion("", "v1"), "Event"):
        errors.append(
            invalid_value(
                field, structure("v1.OwnerReference", owner), "/v1, Kind=Event is disallowed from being an owner"
            )
        )
    return errors


def _finalizer_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    field, finalizers = "metadata.finalizers", metadata.get("finalizers") or ()
    errors = [invalid_value(field, name, text) for name in finalizers for text in qualified_name(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(invalid_value(field, texts(finalizers), detail))
    return errors


def _finalizer_name_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    """What built-in kinds ask of finalizers besides."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid_value(f"metadata.finalizers[{index}]", name, detail)
        for index, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _printed(name: str, value: Any) -> Any:
    """A value as errors show it: moments are not quoted, and written in words of their own."""
    if not name.endswith("Timestamp") or not value:
        return value
    return Shown(value.replace("T", " ").replace("Z", " +0000 UTC"))


_IMMUTABLE: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate_update(
    draft: Object, live: Object, *, plain_finalizers: bool = False, changes: int = 1, whole: int = 1
) -> list[FieldError]:
    """What is wrong with the metadata of an update, every cause as often as the real server looks.

    It looks at it by itself and against what is stored; then the kind does so again, as often as its
    ``MetadataChecks`` say.
    """
    common, finalizers = _common_errors(draft["metadata"]), _finalizer_errors(draft["metadata"])
    names = [] if plain_finalizers else _finalizer_name_errors(draft["metadata"])
    against = _change_errors(draft["metadata"], live["metadata"]) + common
    again = changes * [*against, *names] + whole * [*common, *finalizers, *names]
    return [*common, *finalizers, *against, *again]


def _change_errors(metadata: Mapping[str, Any], stored: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    if stored.get("deletionTimestamp"):
        new = [name for name in metadata.get("finalizers") or () if name not in (stored.get("finalizers") or ())]
        if new:
            listed = "[]string{" + ", ".join(f'"{name}"' for name in new) + "}"
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers " + listed
            errors.append(forbidden_field("metadata.finalizers", detail))
    return errors + [
        invalid_value(f"metadata.{name}", _printed(name, metadata.get(name)), "field is immutable")
        for name in _IMMUTABLE
        if metadata.get(name) != stored.get(name)
    ]
