"""The options of a request: its query parameters and, for deletes, its body, validated as in kube-apiserver.

Upstream: k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go and
k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from simkit.engine.pipeline.request_info import is_true
from simkit.engine.registry.write import DeleteOptions
from simkit.kinds.parts.go_printing.structures import texts
from simkit.language.merge.update import manager_from_user_agent
from simkit.meta import fields, labels
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import META_GROUP
from simkit.meta.duration import seconds
from simkit.meta.errors import StatusError, bad_request, invalid, unexplained
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, quoted, required, too_long, unsupported
from simkit.meta.frozen_init import quickly_made
from simkit.meta.go_number import parse_int, parse_uint
from simkit.meta.message import Request
from simkit.meta.names import GroupKind

_IGNORE: Final = "Ignore"
_WARN: Final = "Warn"
_FIELD_VALIDATION: Final = ("", _IGNORE, "Strict", _WARN)
_PROPAGATION: Final = ("Foreground", "Background", "Orphan")
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\u00a0-\uffff]")


@quickly_made
@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a POST, PUT or PATCH."""

    manager: str
    dry_run: bool = False
    validation: str = "Warn"
    force: bool = False
    as_object: Mapping[str, Any] = field(default_factory=dict)
    """The options that the client gave, as admission sees them."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The options of a list or watch."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""
    bookmarks: bool = False
    timeout: float | None = None
    initial_events: bool | None = None


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if any(value != "All" for value in values):
        shown = texts(values)
        return [unsupported("dryRun", shown, ("All",))]
    return []


def write_options(behaviour: ServedBehaviour, request: Request, kind: str, *, is_apply: bool = False) -> WriteOptions:
    """The options of a write; ``kind`` is CreateOptions, UpdateOptions or PatchOptions. Raises 422 with all errors."""
    query = request.query
    if not query:  # the usual case
        if is_apply:
            raise invalid(
                behaviour, GroupKind(META_GROUP, kind), "", [required("fieldManager", "is required for apply patch")]
            )
        validation = _WARN if behaviour.applies("unknown-fields-told") else _IGNORE
        return WriteOptions(manager_from_user_agent(request.header("user-agent")), validation=validation)
    dry_run, manager = list(query.get("dryRun", ())), request.option("fieldManager")
    validation, force = request.option("fieldValidation"), is_true(query, "force")
    errors: list[FieldError] = []
    if kind == "PatchOptions":
        if not is_apply and "force" in query:
            errors.append(forbidden_field("force", "may not be specified for non-apply patch"))
        if is_apply and not manager:
            errors.append(required("fieldManager", "is required for apply patch"))
    errors += _manager_errors(manager) + _dry_run_errors(dry_run)
    if not behaviour.applies("field-validation-known"):
        validation = ""
    if validation not in _FIELD_VALIDATION:
        errors.append(unsupported("fieldValidation", validation, _FIELD_VALIDATION))
    if errors:
        raise invalid(behaviour, GroupKind(META_GROUP, kind), "", errors)
    given = {"dryRun": dry_run, "fieldManager": manager, "fieldValidation": validation}
    return WriteOptions(
        manager or manager_from_user_agent(request.header("user-agent")),
        bool(dry_run),
        (validation or _WARN) if behaviour.applies("unknown-fields-told") else _IGNORE,
        force,
        {name: value for name, value in given.items() if value},
    )


def _manager_errors(manager: str) -> list[FieldError]:
    if len(manager) > 128:
        return [too_long("fieldManager", 128)]
    odd = _UNPRINTABLE.search(manager)
    if odd is None:
        return []
    detail = f"invalid character U+{ord(odd.group()):04X} (at position {odd.start()})"
    return [invalid_value("fieldManager", manager, detail)]


def integer(request: Request, name: str) -> int | None:
    """An integer from a query parameter; None if it is not given.

    Raises the 400 of kube-apiserver for anything else, the empty text included.
    """
    values = request.query.get(name)
    try:
        return parse_int(values[0]) if values else None
    except ValueError as error:
        raise bad_request(str(error)) from None


def timeout_of(request: Request) -> float:
    """The ``timeout`` in seconds, 0 for none. Raises 400 for an invalid one."""
    given = request.option("timeout")
    try:
        return seconds(given or "0")
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def delete_options(behaviour: ServedBehaviour, options: Mapping[str, Any]) -> DeleteOptions:
    """The options of a delete. Raises 422."""
    preconditions = options.get("preconditions") or {}
    found = DeleteOptions(
        bool(options.get("dryRun")),
        options.get("gracePeriodSeconds"),
        options.get("propagationPolicy") or "",
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
    )
    errors = _propagation_errors(options.get("propagationPolicy"), options.get("orphanDependents"))
    errors += _dry_run_errors(options.get("dryRun") or ())
    if errors:
        raise invalid(behaviour, GroupKind(META_GROUP, "DeleteOptions"), "", errors)
    orphan = options.get("orphanDependents")
    return found if orphan is None else replace(found, propagation="Orphan" if orphan else "Background")


def query_delete_options(request: Request) -> dict[str, Any]:
    """The options of a delete without a body, from its query."""
    query = request.query
    if not query:
        return {}
    options: dict[str, Any] = {
        "dryRun": list(query.get("dryRun", ())),
        "gracePeriodSeconds": integer(request, "gracePeriodSeconds"),
    }
    if "propagationPolicy" in query:
        options["propagationPolicy"] = request.option("propagationPolicy")
    if "orphanDependents" in query:
        options["orphanDependents"] = is_true(query, "orphanDependents")
    return options


def _propagation_errors(policy: str | None, orphan: bool | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if policy is not None and orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid_value("propagationPolicy", policy, detail))
    if policy is not None and policy not in _PROPAGATION:
        errors.append(unsupported("propagationPolicy", policy, (*_PROPAGATION, "nil")))
    return errors


def list_options(behaviour: ServedBehaviour, request: Request, *, watch: bool, watch_list: bool = False) -> ListOptions:
    """The options of a list or watch. Raises 400 for invalid numbers, 422 for invalid combinations."""
    if not request.query:
        return ListOptions(initial_events=True) if watch and watch_list else ListOptions()
    option = request.option
    timeout = integer(request, "timeoutSeconds")
    found = ListOptions(
        option("labelSelector"),
        option("fieldSelector"),
        option("resourceVersion"),
        option("resourceVersionMatch"),
        integer(request, "limit") or 0,
        option("continue"),
        is_true(request.query, "allowWatchBookmarks"),
        float(timeout) if timeout else None,  # nothing asked for, and 0, leave it to the server
        _initial_events(behaviour, request),
    )
    silent = found.initial_events is None and not found.match
    if watch and watch_list and silent and found.resource_version in ("", "0"):  # it begins with what there is
        found = replace(found, initial_events=True, match=_NOT_OLDER)
    errors = _watch_errors(found, watch_list) if watch else _list_errors(found)
    if errors:
        check_syntax(behaviour, found)
        raise invalid(behaviour, GroupKind(META_GROUP, "ListOptions"), "", errors)
    return found


def check_syntax(behaviour: ServedBehaviour, options: ListOptions) -> None:
    """Raises 400 for selectors that cannot be read, which comes before all else that is wrong."""
    try:
        labels.parse(options.label_selector)
        fields.parse(options.field_selector)
    except labels.BadSelector as error:
        raise bad_request(error.told(behaviour)) from None
    except ValueError as error:
        raise bad_request(str(error)) from None


def _initial_events(behaviour: ServedBehaviour, request: Request) -> bool | None:
    """The value of ``sendInitialEvents``; None if it is not given, and where it is not known."""
    given = "sendInitialEvents" in request.query and behaviour.applies("initial-events-known")
    return is_true(request.query, "sendInitialEvents") if given else None


_MATCH: Final = "resourceVersionMatch"
_NOT_OLDER: Final = "NotOlderThan"


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = _match_errors(options) if options.match else []
    if options.initial_events is not None:
        errors.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _match_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    if not options.resource_version:
        errors.append(forbidden_field(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided"))
    if options.token:
        errors.append(forbidden_field(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    if options.match not in ("Exact", _NOT_OLDER):
        errors.append(unsupported(_MATCH, options.match, ("Exact", _NOT_OLDER, "")))
    if options.match == "Exact" and options.resource_version == "0":
        errors.append(forbidden_field(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"'))
    return errors


def _watch_errors(options: ListOptions, watch_list: bool) -> list[FieldError]:
    field, errors = "sendInitialEvents", []
    if options.initial_events is not None:
        if options.match != _NOT_OLDER:
            errors.append(forbidden_field(_MATCH, f"{field} requires setting {_MATCH} to {_NOT_OLDER}"))
        if not watch_list:
            detail = f"{field} is forbidden for watch unless the WatchList feature gate is enabled"
            errors.append(forbidden_field(field, detail))
    if not options.match:
        return errors
    if options.initial_events is None:
        errors.append(forbidden_field(_MATCH, f"{_MATCH} is forbidden for watch unless {field} is provided"))
    if options.match != _NOT_OLDER:
        errors.append(unsupported(_MATCH, options.match, (_NOT_OLDER,)))
    if options.token:
        errors.append(forbidden_field(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    return errors


def revision(text: str) -> int:
    """A resourceVersion as a number. Raises kube-apiserver's 500 without reason for any other text."""
    if not text:
        return 0
    try:
        return parse_uint(text)
    except ValueError as error:
        raise unexplained(f"resourceVersion: Invalid value: {quoted(text)}: {error}") from None


def stored_revision(text: str) -> int:
    """A resourceVersion as a number for reads from the store, which raise a 400 for any other text."""
    try:
        return revision(text)
    except StatusError as error:
        raise bad_request(f"invalid resource version: {error.message}") from None
