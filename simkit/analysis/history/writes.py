"""Writes that an audit log records, with what they tell of the objects before and afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, Literal
from urllib.parse import parse_qs

from simkit.analysis.rbac.subject import text_of_user
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, with_metadata

_WRITES: Final = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_PARTS: Final = frozenset(("", "finalize"))
"""Subresources whose writes may change what an object says; the status of an object grants nothing."""


_GENERATED: Final = "(generated name)"
"""How names begin that stand for generated names; no object of Kubernetes is called so."""


class Unknown(Enum):
    """The only value says that an object may have any content."""

    CONTENT = "unknown"

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown.CONTENT
State = Object | Literal[Unknown.CONTENT] | None
"""An object; ``UNKNOWN`` for one whose content is not known, or of which it is not known whether it exists; None for
one that does not exist."""


@dataclass(frozen=True, slots=True)
class RecordedWrite:
    """One successful write.

    Attributes
    ----------
    time
        When it was answered, in seconds since the epoch.
    key
        The object; of a deletion of many the name is empty, of a creation whose generated name is not in the log it is
        one that no object has.
    user
        The user who wrote; with ``impersonator``, the user as whom somebody else wrote.
    after
        The object afterwards, as far as the level of the audit policy tells it.
    created
        Whether the object did not exist before.
    patch
        The body of a patch, where the object itself is not in the log.
    """

    time: float
    key: Key
    verb: str
    user: str
    after: State
    created: bool = False
    patch: Mapping[str, Any] | None = None
    audit_id: str = ""
    impersonator: str = ""

    @property
    def author(self) -> str:
        """Who wrote, and as whom if that was somebody else: ``user:mallory as user:root``."""
        user = text_of_user(self.user)
        return f"{text_of_user(self.impersonator)} as {user}" if self.impersonator else user

    @property
    def unnamed(self) -> bool:
        """True for the creation of an object whose generated name is not in the log."""
        return self.key.name.startswith(_GENERATED)


def seconds_of(text: Any) -> float | None:
    """A moment of an audit event or an object, in seconds since the epoch; UTC without a zone; None for no moment."""
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def writes_of(events: Iterable[Object]) -> Iterator[RecordedWrite]:
    """The successful writes among audit events. Dry runs, refusals and other stages are left out."""
    for event in events:
        if event.get("verb") in _WRITES and _is_done(event):
            found = _write(event, event.get("objectRef") or {})
            if found is not None:
                yield found


def _is_done(event: Object) -> bool:
    if event.get("stage", "ResponseComplete") != "ResponseComplete":
        return False
    code = at(event, "responseStatus", "code")
    query = parse_qs(str(event.get("requestURI") or "").partition("?")[2])
    return (code is None or 200 <= code < 300) and not query.get("dryRun")


def _write(event: Object, reference: Mapping[str, Any]) -> RecordedWrite | None:
    time = seconds_of(event.get("stageTimestamp") or event.get("requestReceivedTimestamp"))
    if time is None or reference.get("subresource", "") not in _PARTS or not reference.get("resource"):
        return None
    verb, response = str(event.get("verb")), event.get("responseObject")
    audit_id = str(event.get("auditID") or "")
    name = str(reference.get("name") or at(response, "metadata", "name") or "")
    if not name and verb == "create":
        name = f"{_GENERATED} {audit_id or time}"
    resource = GroupResource(str(reference.get("apiGroup") or ""), str(reference["resource"]))
    key = Key(resource, str(reference.get("namespace") or ""), name)
    sender = str(at(event, "user", "username") or "")
    impersonated = str(at(event, "impersonatedUser", "username") or "")
    told = (time, key, verb, impersonated or sender)
    behind = sender if impersonated else ""
    if not name and verb != "deletecollection":
        return None
    if verb == "deletecollection":
        return RecordedWrite(*told, UNKNOWN, audit_id=audit_id, impersonator=behind)
    if verb == "delete":
        return RecordedWrite(*told, _after_deletion(event), audit_id=audit_id, impersonator=behind)
    if name.startswith(_GENERATED):
        return RecordedWrite(*told, UNKNOWN, True, None, audit_id, behind)
    request = event.get("requestObject")
    after = _object(response, key) or (_object(request, key) if verb != "patch" else None)
    patch = request if after is None and verb == "patch" and _is_merge(request) else None
    created = verb == "create" or at(event, "responseStatus", "code") == 201
    return RecordedWrite(*told, after or UNKNOWN, created, patch, audit_id, behind)


def _after_deletion(event: Object) -> State:
    """Nothing, or the object if a finalizer or a grace period keeps it; unknown if the answer is not in the log."""
    response = event.get("responseObject")
    if not isinstance(response, Mapping):
        return UNKNOWN
    if response.get("kind") != "Status" and (
        metadata(response).get("finalizers") or metadata(response).get("deletionGracePeriodSeconds")
    ):
        return response
    return None


def _object(value: Any, key: Key) -> Object | None:
    """A body as the object of a key; None for a Status, a part of an object and anything else."""
    if not isinstance(value, Mapping) or value.get("kind") in (None, "Status") or not value.get("apiVersion"):
        return None
    if key.resource.group == "" and value.get("kind") == "Namespace" and not key.name:
        return None
    place = {"namespace": key.namespace} if key.namespace else {}
    return with_metadata(value, name=key.name, **place)


def _is_merge(value: Any) -> bool:
    """True for a merge patch; an object as server-side apply sends it has owners that the log does not tell."""
    return isinstance(value, Mapping) and not (value.get("apiVersion") and value.get("kind"))


def patched(before: State, patch: Mapping[str, Any]) -> State:
    """An object after a merge patch; unknown if it was unknown.

    Strategic merge patches of roles and bindings do the same, since their lists are replaced as a whole.
    """
    if before is UNKNOWN or before is None:
        return UNKNOWN
    if any(isinstance(value, list) and name not in ("rules", "subjects") for name, value in patch.items()):
        return UNKNOWN
    if any(name.startswith("$") for name in _names(patch)):
        return UNKNOWN
    merged: Object = _merged(before, patch)
    return merged


def deleted(before: State) -> State:
    """An object after a deletion whose answer is not in the log: finalizers keep it."""
    if before is UNKNOWN or before is None:
        return before
    return before if metadata(before).get("finalizers") else None


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)


def _merged(before: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    kept = dict(before) if isinstance(before, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = _merged(kept.get(name), value)
    return kept


def latest_moment(objects: Sequence[Object]) -> float | None:
    """The latest moment that objects tell: creation, fields that somebody manages, or the renewal of a lease."""
    found: list[float] = []
    for obj in objects:
        about = metadata(obj)
        texts = [about.get("creationTimestamp"), at(obj, "spec", "renewTime"), obj.get("lastTimestamp")]
        texts += [entry.get("time") for entry in about.get("managedFields") or () if isinstance(entry, Mapping)]
        found += [moment for text in texts if text and (moment := seconds_of(text)) is not None]
    return max(found, default=None)
