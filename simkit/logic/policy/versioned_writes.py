"""One write in several versions.

k8s.io/apiserver/pkg/admission/conversion.go, release 1.36.
"""

from __future__ import annotations

from functools import cached_property

from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes, ClusterReader
from simkit.logic.policy.matching import missing_namespace
from simkit.logic.policy.policy import VersionedAttributes
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import Object
from simkit.schema.catalogue import Resource


class VersionedWrites:
    """One write in the versions of the policies, each converted on demand."""

    def __init__(self, attributes: AdmissionAttributes, reader: ClusterReader) -> None:
        self._attributes, self.reader = attributes, reader
        self._converted: dict[GroupVersionResource, VersionedAttributes] = {}

    def of(self, matched: Resource) -> VersionedAttributes:
        """The write in the version of a resource."""
        found = self._converted.get(matched.gvr)
        if found is None:
            found = self._converted[matched.gvr] = VersionedAttributes(
                self._attributes, matched, self.reader, self._namespace
            )
        return found

    @cached_property
    def _namespace(self) -> Object | None:
        attributes = self._attributes
        if attributes.is_namespace or not attributes.namespace:
            return None
        found = self.reader.get(NAMESPACES, attributes.namespace)
        if found is None:
            raise missing_namespace(attributes.namespace)
        return found
