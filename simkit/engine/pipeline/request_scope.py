"""The request scope: a resource with its strategy, schema and encoded parts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from simkit.engine.registry.write import RegistryScope
from simkit.kinds.apiextensions.definition import Conversion, CustomVersion, Provider, uncalled
from simkit.kinds.conversions.convert import kept_in
from simkit.kinds.conversions.family import SAME_FIELDS, ConversionError, Family, Spoke
from simkit.kinds.strategy import DEFAULT_STRATEGY, Strategy, strategy_of
from simkit.language.merge.fieldset import Fields as OwnedFields
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.deadline import checked
from simkit.meta.errors import bad_request
from simkit.meta.fielderror import quoted
from simkit.meta.names import GroupKind
from simkit.meta.objects import Draft, Object, copied
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.decoding import DecodeError, normalise
from simkit.schema.disabled_fields import DisabledFields, FieldGates
from simkit.schema.field_labels import FieldLabels, field_labels
from simkit.schema.field_order import Fields
from simkit.schema.lifecycle import lifecycle_of
from simkit.schema.structural import Schema
from simkit.seams import Entry

_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def _custom_version(catalogue: Catalogue, resource: Resource, conversion: Conversion) -> CustomVersion | None:
    """The version that defines a custom kind, bound to the conversion webhooks of this server."""
    provider = catalogue.provider(resource.gvk) if resource.custom else None
    if not isinstance(provider, Provider):
        return None
    found = provider.version(resource.gvk)
    if not found.definition.calls_out:
        return found
    return found.definition.with_conversion(conversion).versions[found.name]


class RequestScope:
    """One resource of one group version, ready to be served."""

    def __init__(
        self,
        catalogue: Catalogue,
        resource: Resource,
        gates: FieldGates | None = None,
        conversion: Conversion = uncalled,
    ) -> None:
        self.catalogue, self.resource, self._gates, self._conversion = catalogue, resource, gates, conversion
        self.custom = _custom_version(catalogue, resource, conversion)
        """The version of the definition of a custom kind; None for built-in kinds."""
        self.strategy: Strategy = self._custom_strategy() if resource.custom else self._strategy()
        stored = GroupKind(resource.storage.group, resource.kind)
        self.registry_scope = RegistryScope(
            resource.storage,
            stored,
            resource.namespaced,
            self.strategy,
            resource.has_status,
            self._drop_disabled_fields,
            resource.group_resource,
            self._as_read,
        )
        header = go_json.encode({"kind": resource.kind, "apiVersion": resource.api_version})
        self.head = b"{" if resource.custom else header[:-1] + b","
        """The start of an object's JSON: kind and apiVersion; custom kinds have them among the other keys."""
        self.item_head = b"{"
        """The start of an object inside a list: built-in kinds leave out kind and apiVersion."""
        self.is_storage_version = resource.gvk == resource.storage_gvk
        self.encoding = resource.api_version if self.custom is None else self.custom.encoding
        """The key under which entries cache their bytes."""
        self.first_records: dict[tuple[str, Hashable], Mapping[str, Any]] = {}
        """The managed fields of new objects, by their managers and their structure."""
        self.reset_fields: dict[str, OwnedFields] = {}
        """The fields that a write does not own, by subresource."""

    def beside(self, resource: Resource) -> RequestScope:
        """Another resource of the same server."""
        return RequestScope(self.catalogue, resource, self._gates, self._conversion)

    def _custom_strategy(self) -> Strategy:
        if self.custom is None:
            return DEFAULT_STRATEGY
        from simkit.kinds.apiextensions.customresource import strategy_of as custom_strategy

        return custom_strategy(self.custom)

    def _strategy(self) -> Strategy:
        """The strategy of a built-in kind: of its group, its storage group, or its version."""
        resource, strategy = self.resource, strategy_of(self.resource.group_kind)
        if strategy is DEFAULT_STRATEGY:
            strategy = strategy_of(GroupKind(resource.storage.group, resource.kind))
        return (strategy.older_versions or {}).get(resource.api_version, strategy)

    @property
    def behaviour(self) -> ServedBehaviour:
        """The behaviour of the release that is served."""
        return self.catalogue.behaviour

    @cached_property
    def schema(self) -> Schema:
        return self.catalogue.schema(self.resource.gvk)

    @cached_property
    def withheld(self) -> DisabledFields:
        """The disabled fields of the stored form."""
        if self._gates is None or self.resource.custom or not self.resource.stored:
            return DisabledFields(None)
        return self._gates.of(self.catalogue.schema(self.resource.storage_gvk))

    def _drop_disabled_fields(self, draft: Draft, old: Object | None, subresource: str) -> None:
        self.withheld.drop_disabled_fields(draft, old, subresource)

    def _as_read(self, stored: Object) -> Object:
        """An object of a dump as kube-apiserver reads one from its store: decoded, and with its defaults."""
        read = stored
        if not self.resource.custom:
            try:
                read = normalise(self.behaviour, stored, self.catalogue.schema(self.resource.storage_gvk))
            except DecodeError:
                return stored
        draft = {**read, "metadata": dict(read.get("metadata") or {})}
        self.strategy.default(self.behaviour, draft)
        return draft

    @cached_property
    def deprecation(self) -> tuple[str, str] | None:
        """The warning for clients and the release of the removal; None for a version that is not deprecated."""
        if self.custom is not None:
            return (self.custom.warning, "") if self.custom.warning else None
        found = None if self.resource.custom else lifecycle_of(self.resource.api_version, self.resource.kind)
        text = found.warning(self.catalogue.release) if found is not None else ""
        return (text, found.announced or found.end) if found is not None and text else None

    @cached_property
    def _family(self) -> Family | None:
        """The versions of the same stored kind; None if there is no conversion, or the kind is custom."""
        if self.resource.custom or not self.resource.stored:
            return None
        return kept_in(self.resource.storage_gvk.api_version, self.resource.api_version, self.resource.kind)

    @cached_property
    def spoke(self) -> Spoke:
        """The conversion to the stored version and back."""
        return (self._family.spoke(self.resource.api_version) if self._family is not None else None) or SAME_FIELDS

    @cached_property
    def has_shapes(self) -> bool:
        """True if objects look different in some version of the kind."""
        return self.custom is not None or (self._family is not None and self._family.reshapes)

    @cached_property
    def field_labels(self) -> FieldLabels:
        own = self.custom.selectable if self.custom is not None else ()
        return field_labels(self.resource, self.catalogue.release).with_labels(own)

    def to_storage(self, draft: Draft) -> Draft:
        """The object in the storage version; takes over the draft. A custom object stays as written until it is
        validated."""
        if self.custom is not None:
            return draft
        try:
            self.spoke.to_hub(draft)
        except ConversionError as error:
            kind, version = self.resource.kind, self.resource.version
            raise bad_request(f"{kind} in version {quoted(version)} cannot be handled as a {kind}: {error}") from None
        if self.is_storage_version:
            return draft
        gvk = self.resource.storage_gvk
        kept = normalise(self.behaviour, draft, self.catalogue.schema(gvk)) if self.spoke.reshapes else draft
        return {**kept, "apiVersion": gvk.api_version, "kind": gvk.kind}

    def as_stored(self, obj: Object) -> Object:
        """An object of this version in the form of stored ones."""
        return self.to_storage(copied(obj)) if self.spoke.reshapes else obj

    def from_storage(self, obj: Object) -> Object:
        """The stored object in this version."""
        if self.custom is not None:
            return self.custom.read(obj)
        if self._gates is not None and not self._gates.usual:  # defaults are those of 1.30: the release knows fewer
            obj = self.withheld.without(obj)
        return self._converted(obj)

    def _converted(self, obj: Object) -> Object:
        """An object of a built-in kind in this version, with all that it has."""
        if self.is_storage_version:
            return obj
        if self.spoke.reshapes:
            draft: Draft = copied(obj)
            self.spoke.from_hub(self.behaviour, draft)
            obj = normalise(self.behaviour, draft, self.schema)
        return {**obj, "apiVersion": self.resource.api_version, "kind": self.resource.kind}

    def as_written(self, wanted: Object) -> Object:
        """An object on its way to the store, in this version and with fields that the store drops: whoever writes
        them owns them. What a release before 1.30 does not know is not among them."""
        if self.custom is not None:
            return wanted
        knows_all = self._gates is None or self._gates.knows_all
        return self._converted(wanted if knows_all else self.withheld.without_unknown(wanted))

    @cached_property
    def calls_out(self) -> bool:
        """True if objects in other versions are converted by a webhook."""
        return self.custom is not None and self.custom.definition.calls_out

    def _asks(self, entry: Entry) -> bool:
        """True if a webhook has to be asked for an entry in this version."""
        return self.calls_out and self.custom is not None and not self.custom.is_of(entry.object)

    def all_from_storage(self, entries: Sequence[Entry]) -> Sequence[Object]:
        """The stored objects in this version, with one call of a conversion webhook for all."""
        if self.custom is not None and self.calls_out:
            return self.custom.read_all([entry.object for entry in entries])
        return [self.from_storage(entry.object) for entry in checked(entries)]

    def kept_tail(self, entry: Entry) -> bytes:
        """The JSON of an entry in this version after the head. Encoded once per entry."""
        made = entry.encodings.get(self.encoding)
        if made is None:
            made = entry.encodings[self.encoding] = self.encode_tail(self.from_storage(entry.object))
        return made

    def encode_tail(self, obj: Object) -> bytes:
        """The JSON of an object after the head, in the order of ``ordered``."""
        if self.resource.custom:
            return go_json.encode(obj, sort_keys=True)[1:]
        ordered = self.ordered(obj)
        ordered.pop("kind", None)
        ordered.pop("apiVersion", None)
        return go_json.encode(ordered)[1:]

    def encode_list(self, tails: list[bytes], metadata: Mapping[str, Any]) -> bytes:
        """The JSON of a list of encoded items."""
        resource = self.resource
        head = go_json.encode({"kind": resource.list_gvk.kind, "apiVersion": resource.api_version})
        about = go_json.encode(metadata)
        opening, closing = head[:-1] + b',"metadata":' + about + b',"items":[', b"]}\n"
        if resource.custom:
            kind, _, version = head[1:-1].partition(b",")
            opening, closing = b"{" + version + b',"items":[', b"]," + kind + b',"metadata":' + about + b"}\n"
        if not tails:
            return opening + closing
        tails[0] = opening + self.item_head + tails[0]
        tails[-1] += closing
        return (b"," + self.item_head).join(tails)  # in one go: a long list is copied once

    def ordered(self, obj: Object) -> Draft:
        """An object of this version in the order of its JSON; keys of custom kinds are sorted."""
        made: Draft = go_json.sorted_keys(obj) if self.resource.custom else self._order(obj)
        return made

    def ordered_metadata(self, obj: Object) -> Draft:
        """An object's metadata as they are shown alone, in the order of their type, which custom kinds share."""
        made: Draft = self._metadata_order(obj["metadata"])
        annotations, apart = made.get("annotations"), self.strategy.version_annotations
        if annotations and apart:
            kept = {name: value for name, value in annotations.items() if name not in apart}
            if not kept:
                del made["annotations"]
            else:
                made["annotations"] = kept
        return made

    @cached_property
    def _order(self) -> Fields:
        return Fields(self.schema)

    @cached_property
    def _metadata_order(self) -> Fields:
        return Fields(self.catalogue.definition(_METADATA))

    def tails(self, entries: Sequence[Entry]) -> list[bytes]:
        """The JSON of several entries after the head; a conversion webhook is called for each."""
        asked = [entry for entry in entries if self._asks(entry)] if self.calls_out else []
        if not asked:
            encoding = self.encoding
            kept = [entry.encodings.get(encoding) for entry in entries]
            return [tail or self.kept_tail(entry) for tail, entry in zip(kept, checked(entries), strict=True)]
        made = map(self.encode_tail, self.all_from_storage(asked))
        return [next(made) if self._asks(entry) else self.kept_tail(entry) for entry in entries]
