"""The selection of a list, watch or deletecollection by labels and fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simkit.engine.pipeline.options import ListOptions
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.seams import Entry
from simkit.meta import fields, labels
from simkit.meta.deadline import checked
from simkit.meta.errors import bad_request
from simkit.meta.objects import labels_of


@dataclass(frozen=True, slots=True)
class Selection:
    """Compiled selectors. ``everything`` is true if they match every object."""

    labels: labels.LabelSelector
    fields: fields.FieldSelector
    values: Callable[[Entry], Mapping[str, str]]
    everything: bool
    name: str
    """The one name that can match, or the empty string."""

    def matches(self, entry: Entry) -> bool:
        if self.everything:
            return True
        if self.labels and not self.labels.matches(labels_of(entry.object)):
            return False
        return not self.fields or self.fields.matches(self.values(entry))

    def of(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return entries if self.everything else [entry for entry in checked(entries) if self.matches(entry)]


def selection(scope: RequestScope, options: ListOptions) -> Selection:
    """The selection of a request. Raises kube-apiserver's 400 for invalid selectors."""
    try:
        by_label = labels.parse(options.label_selector)
        by_field = scope.field_labels.checked(fields.parse(options.field_selector), scope.resource.kind)
    except ValueError as error:
        raise bad_request(str(error)) from None
    everything = not by_label and not by_field
    return Selection(by_label, by_field, _values(scope), everything, by_field.exact("metadata.name"))


def _values(scope: RequestScope) -> Callable[[Entry], Mapping[str, str]]:
    plain, special = scope.field_labels.values, scope.strategy.selectable_fields

    def values(entry: Entry) -> Mapping[str, str]:
        common = {"metadata.name": entry.key.name, "metadata.namespace": entry.key.namespace}
        return {**plain(entry.object), **special(entry.object), **common}

    return values
