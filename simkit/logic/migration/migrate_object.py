"""One object rewritten in a version that a release serves, with the meaning that it had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from simkit.kinds.apiextensions.customresourcedefinition import APPROVAL, is_protected
from simkit.kinds.conversions import ConversionError, convert, convertible
from simkit.kinds.conversions.convert import family_of
from simkit.meta.domain import ADMISSION_GROUP, CERTIFICATES_GROUP, EXTENSIONS_GROUP, label
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Draft, Object, annotations_of, at, copied
from simkit.schema.behaviour import default_behaviour
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import DecodeError, decode
from simkit.schema.lifecycle import is_served, lifecycle_of, newest_release, successor
from simkit.schema.releases import RELEASES
from simkit.snapshot.field_types import first_mismatch

_GENERATION: Final = "deprecated.daemonset.template.generation"
_LEGACY: Final = label("legacy-unknown")
_DEEPEST: Final = 60
_OF_REQUESTS: Final = ("Binding", "DeleteOptions", "Eviction", "Scale", "Status", "TokenRequest")
"""Kinds that are sent to the server's own groups without a resource of their own."""
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_SAFE_EFFECTS: Final = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True)
class MigratedObject:
    """An object as it should be written, and what is to be said about it."""

    object: Object
    to: str = ""
    """The version that it was rewritten in; empty where its version stays."""
    changed: bool = False
    person: tuple[str, ...] = ()
    """The decisions for a person. Without them the object can be applied as it is."""
    notes: tuple[str, ...] = ()
    """The changes that keep the meaning and may be worth a look."""

    @property
    def is_concerned(self) -> bool:
        """True if something is to change, or for a person to decide."""
        return self.changed or bool(self.person)


def migrate_object(obj: Object, release: str, *, output_version: str = "") -> MigratedObject:
    """An object for a release: in its own version where that is served, else in the one that takes its place.

    Parameters
    ----------
    output_version
        Rewrite in this version whatever kinds have it, also where their own is still served.

    Examples
    --------
    >>> job = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {}}
    >>> migrate_object(job, "1.25").object["apiVersion"]
    'batch/v1'
    >>> migrate_object({**job, "apiVersion": "example.com/v1beta1"}, "1.25").changed
    False
    """
    version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    if lifecycle_of(version, kind) is None:
        if _is_of_nobody(version, kind, release):
            told = f"no release from {RELEASES[0]} on serves {version} {kind}, and its group is the server's own"
            return MigratedObject(obj, person=(told,))
        return _with_references(MigratedObject(obj), release)
    wanted = output_version if output_version and convertible(kind, version, output_version) else ""
    if wanted == version or (not wanted and is_served(version, kind, release)):
        return _with_references(MigratedObject(obj), release)
    target = wanted or successor(version, kind, release).partition(" ")[0]
    if not target:
        return MigratedObject(obj, person=(f"{version} {kind} is gone at {release} and has no successor",))
    wrong = first_mismatch(obj, release)
    if wrong is not None:
        return MigratedObject(obj, person=(f"{wrong}, so it cannot be rewritten",))
    unknown = _unknown_fields(obj, version, kind) if reshapes(kind, version, target) else ()
    if unknown:
        return MigratedObject(
            obj, person=tuple(f"{each}: {version} has no such field, so it cannot be rewritten" for each in unknown)
        )
    try:
        converted: Draft = copied(convert(obj, target, default_behaviour(release)))
    except (ConversionError, AttributeError, TypeError, KeyError, ValueError) as error:
        return MigratedObject(obj, person=(f"{version} {kind} could not be converted to {target}: {error}",))
    person, notes = _tidied(converted, obj, GroupVersion.parse(target).group, kind)
    return _with_references(MigratedObject(converted, target, True, tuple(person), tuple(notes)), release)


def _is_of_nobody(version: str, kind: str, release: str) -> bool:
    """True for a kind that is not known, in a group of the server's own, where no custom resource can be."""
    if not version or not kind or kind in _OF_REQUESTS or kind.endswith("List") or "{" in version + kind:
        return False
    group = GroupVersion.parse(version).group
    return any(each.group == group for each in Catalogue.for_release(release).resources())


def reshapes(kind: str, old: str, new: str) -> bool:
    """True if more differs between two versions of a kind than their names."""
    family = family_of(old, kind)
    spokes = (family.spoke(old), family.spoke(new)) if family is not None else ()
    return not spokes or any(spoke is None or spoke.reshapes or spoke.has_own_defaults for spoke in spokes)


def _unknown_fields(obj: Object, version: str, kind: str) -> tuple[str, ...]:
    """Sentences about fields that an object's own version does not know: a conversion would drop them."""
    group_version = GroupVersion.parse(version)
    gvk = GroupVersionKind(group_version.group, group_version.version, kind)
    try:
        catalogue = Catalogue.for_release(newest_release(gvk) or RELEASES[-1])
        return tuple(decode(catalogue.behaviour, obj, catalogue.schema(gvk)).problems)
    except (DecodeError, SimkitError):
        return ()  # what is of a wrong type is told by a server


def _tidied(converted: Draft, obj: Object, group: str, kind: str) -> tuple[list[str], list[str]]:
    """The decisions for a person. Removes fields that no manifest had."""
    if "status" not in obj:
        converted.pop("status", None)
    notes = annotations_of(converted)
    if notes.get(_GENERATION) == "0" and _GENERATION not in annotations_of(obj):
        kept = {name: value for name, value in notes.items() if name != _GENERATION}
        converted["metadata"] = {**converted["metadata"], "annotations": kept}
        if not kept and not annotations_of(obj):
            del converted["metadata"]["annotations"]
    if group == EXTENSIONS_GROUP and kind == "CustomResourceDefinition":
        return list(_approval(converted)), list(_definition(converted, obj))
    if group == ADMISSION_GROUP and kind.endswith("WebhookConfiguration"):
        return list(_webhooks(converted)), []
    if group == CERTIFICATES_GROUP and kind == "CertificateSigningRequest":
        return list(_signer(converted)), []
    if kind == "PodDisruptionBudget" and at(obj, "spec", "selector") == {}:
        return [], ["an empty selector chose no pod before and would choose all now; it still chooses none"]
    if kind == "Event":
        return list(_event(converted)), []
    return [], []


def _definition(converted: Draft, obj: Object) -> Iterator[str]:
    """A definition of which each version has a schema that begins as v1 demands it; a server judges the rest of it."""
    spec = converted.get("spec")
    if not isinstance(spec, dict):
        return
    preserve = spec.pop("preserveUnknownFields", True) is not False
    for name in ("singular", "listKind"):
        if name not in (at(obj, "spec", "names") or {}):
            spec.get("names", {}).pop(name, None)
    if "conversion" not in (obj.get("spec") or {}):
        spec.pop("conversion", None)
    for version in spec.get("versions") or ():
        schema = at(version, "schema", "openAPIV3Schema")
        made = {**(schema if isinstance(schema, Mapping) else {}), "type": "object"}
        version["schema"] = {"openAPIV3Schema": made}
        if preserve or not made.get("properties"):
            made[_PRESERVE] = True
            yield f"version {version.get('name')}: fields that the schema does not name are kept, as before"


def _approval(converted: Draft) -> Iterator[str]:
    """What v1 requires of definitions in groups of the Kubernetes project, and v1beta1 did not."""
    group = str(at(converted, "spec", "group") or "")
    if is_protected(group) and not annotations_of(converted).get(APPROVAL):
        yield (
            f"the group {group} is protected: set the annotation {APPROVAL} to the address of the approval, or to "
            '"unapproved, experimental-only"'
        )


def _webhooks(converted: Draft) -> Iterator[str]:
    for webhook in converted.get("webhooks") or ():
        effects = webhook.get("sideEffects")
        if effects not in _SAFE_EFFECTS:
            yield (
                f"webhook {webhook.get('name')}: sideEffects is {effects}; say None or NoneOnDryRun, "
                "if it is so, since nothing else is taken"
            )


def _signer(converted: Draft) -> Iterator[str]:
    if at(converted, "spec", "signerName") in (None, _LEGACY):
        yield "spec.signerName: name the signer that is meant, since legacy-unknown is refused"


def _event(converted: Draft) -> Iterator[str]:
    needed = ("eventTime", "reportingController", "reportingInstance", "action", "reason", "type")
    missing = [name for name in needed if not converted.get(name)]
    if missing:
        yield f"an event needs {', '.join(missing)}"


# References within an object


def _with_references(migrated: MigratedObject, release: str) -> MigratedObject:
    """The object with its references in versions that the release serves, such as the target of an autoscaler."""
    found = list(_references(migrated.object, (), release, 0))
    if not found:
        return migrated
    obj = copied(migrated.object)
    for path, version in found:
        node = obj
        for step in path:
            node = node[step]
        node["apiVersion"] = version
    return replace(migrated, object=obj, changed=True)


def _references(value: Any, path: tuple[Any, ...], release: str, depth: int) -> Iterator[tuple[tuple[Any, ...], str]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        version, kind = value.get("apiVersion"), value.get("kind")
        if path and isinstance(version, str) and isinstance(kind, str) and _only_refers(value):
            life = lifecycle_of(version, kind)
            if life is not None and not is_served(version, kind, release):
                found = successor(version, kind, release).partition(" ")[0]
                if found:
                    yield path, found
            return
        for name, inner in value.items():
            if name != "managedFields":
                yield from _references(inner, (*path, name), release, depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, (*path, index), release, depth + 1)


def _only_refers(value: Mapping[str, Any]) -> bool:
    """True if a mapping only says which object is meant."""
    return "name" in value and not {"metadata", "spec", "data", "rules"} & value.keys()
