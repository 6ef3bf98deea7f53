"""Coverage of webhooks: the objects of a cluster that each of them matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.admission.simulated_writes import OPERATIONS, SnapshotReader, write_attributes
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.rbac.objects import captured_objects
from simkit.analysis.rbac.tables import table
from simkit.logic.policy.matching import Constraints
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.errors import StatusError
from simkit.meta.identity import administrator
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("kind", "configuration", "webhook", "on_failure", "target", "resource", "namespace", "name")
CONFIGURATIONS: Final = {
    kind: GroupResource(ADMISSION_GROUP, f"{kind.lower()}s")
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
}


def webhook_coverage(snapshot: Snapshot) -> pd.DataFrame:
    """The objects that each webhook would be called for if they were written again.

    Returns
    -------
    DataFrame
        One row per webhook and object: kind and name of the configuration, webhook, on_failure (``Fail``: without an
        answer of the webhook the object cannot be written; or ``Ignore``), target (its service or URL), resource,
        namespace, name. Match conditions are not looked at, since they may depend on who writes.

    Raises
    ------
    SimkitError
        For a webhook that cannot be read.

    Notes
    -----
    O(webhooks x objects of the kinds that they name).

    Examples
    --------
    >>> from simkit.analysis import webhook_coverage
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> list(webhook_coverage(MemorySnapshot([])).columns)[:3]
    ['kind', 'configuration', 'webhook']
    """
    return table(_rows(snapshot), COLUMNS)


def _rows(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    reader = SnapshotReader(snapshot)
    for kind, resource in CONFIGURATIONS.items():
        for configuration in captured_objects(snapshot, resource):
            for row in configuration.get("webhooks") or ():
                if not row.get("rules"):
                    continue
                told = kind, name_of(configuration), row.get("name"), row.get("failurePolicy") or "Fail", _target(row)
                yield from ((*told, *place) for place in _seen(row, reader))


def _target(webhook: Object) -> str:
    service = at(webhook, "clientConfig", "service")
    if service is None:
        return str(at(webhook, "clientConfig", "url") or "")
    return f"{service.get('namespace')}/{service.get('name')}"


def _seen(webhook: Object, reader: SnapshotReader) -> Iterator[tuple[str, str, str]]:
    """Resource, namespace and name of each object that a webhook would be called for."""
    spec = {name: webhook.get(name) for name in ("namespaceSelector", "objectSelector", "matchPolicy")}
    constraints = Constraints({**spec, "resourceRules": webhook.get("rules") or ()})
    for resource in catalogue_of(reader.snapshot).stored():
        operation = _operation(constraints, reader, resource)
        if operation is None:
            continue
        for obj in reader.snapshot.scan(resource.storage):
            attributes = write_attributes(obj, resource, operation, administrator(), reader.catalogue)
            try:
                matched = constraints.match(attributes, reader)
            except StatusError:  # its namespace is not there
                continue
            if matched is not None:
                namespace = "" if attributes.is_namespace else attributes.namespace
                yield str(resource.group_resource), namespace, attributes.name


def _operation(constraints: Constraints, reader: SnapshotReader, resource: Resource) -> str | None:
    """The first operation on a resource that the webhook's rules name; None if there is none."""
    if resource.storage not in reader.snapshot.captured() or resource.group == ADMISSION_GROUP:
        return None  # no webhook is asked about webhooks and policies
    return next((each for each in OPERATIONS if constraints.may_match(reader, each, resource.gvr, "")), None)
