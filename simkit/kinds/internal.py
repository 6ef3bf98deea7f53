"""Strategy of StorageVersion: name, validation of the status, printer columns.

Follows ``pkg/registry/apiserverinternal/storageversion/strategy.go`` and
``pkg/apis/apiserverinternal/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.cells import UNSET, columns, few
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, prepared
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.strategy import MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import TOLD
from simkit.meta.fielderror import Errors, FieldError, duplicate, invalid_value, required
from simkit.meta.name_validation import dns1035_label, dns_subdomain, qualified_name
from simkit.meta.objects import Object, at
from simkit.meta.wording import Worded, told

_EMPTY: Final = "must be non-empty"
_WRONG_FORM: Final = (
    "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyVersion')"
)


def _validate_name(name: str, prefix: bool) -> Sequence[str]:
    group, dot, resource = name.rpartition(".")
    if not dot:
        return ["name must be in the form of <group>.<resource>"]
    found = [f"the group segment {text}" for text in dns_subdomain(group)]
    return found + [f"the resource segment {text}" for text in dns1035_label(resource)]


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    status = obj.get("status") or {}
    servers = status.get("storageVersions") or ()
    errors, seen, letters = list[FieldError](), set[str](), 0
    for index, server in enumerate(servers):
        path, identity = f"status.storageVersions[{index}]", server.get("apiServerID") or ""
        if identity in seen:
            errors.append(duplicate(f"{path}.apiServerID", identity))
        seen.add(identity)
        found = list(_validate_server(path, server, TOLD - letters))
        letters += sum(len(told(error.detail, behaviour)) for error in found)
        errors += found
    errors += _validate_common_version(servers, status.get("commonEncodingVersion"))
    errors += _validate_conditions(status.get("conditions") or ())
    return errors


def _validate_server(path: str, server: Object, room: int) -> Errors:
    """The errors of a server; once those of a list are longer than ``room`` together, they are counted and not told."""
    identity, encoding = (server.get(name) or "" for name in ("apiServerID", "encodingVersion"))
    versions: Sequence[str] = server.get("decodableVersions") or ()
    decodable, listed = set(versions), f"[{' '.join(versions)}]"
    yield from (invalid_value(f"{path}.apiServerID", identity, text) for text in dns_subdomain(identity))
    yield from _validate_version(f"{path}.encodingVersion", encoding)
    for index, version in enumerate(versions):
        yield from _validate_version(f"{path}.decodableVersions[{index}]", version)
    if encoding not in decodable:
        text = f"decodableVersions must include encodingVersion {encoding}"
        yield invalid_value(f"{path}.decodableVersions", texts(server.get("decodableVersions")), text)
    for index, version in enumerate(server.get("servedVersions") or ()):
        yield from _validate_version(f"{path}.servedVersions[{index}]", version)
        if version not in decodable:
            shown = listed if room >= 0 else ""
            room -= len(shown)
            text = f"individual served version : {version} must be included in decodableVersions : {shown}"
            yield invalid_value(f"{path}.servedVersions[{index}]", version, text)


def _validate_version(path: str, version: str) -> Errors:
    wrong = _version_texts(version)
    if wrong:
        yield invalid_value(path, version, ",".join(wrong))


def _version_texts(api_version: str) -> Sequence[str]:
    """The errors of a version with or without its group."""
    *group, version = api_version.split("/")
    if len(group) > 1:
        return [_WRONG_FORM]
    found = []
    if group:
        found += [f"group part: {text}" for text in (dns_subdomain(group[0]) if group[0] else [_EMPTY])]
    return found + [f"version part: {text}" for text in (dns1035_label(version) if version else [_EMPTY])]


def _validate_common_version(servers: Sequence[Object], told: str | None) -> Errors:
    path, versions = "status.commonEncodingVersion", {server.get("encodingVersion") or "" for server in servers}
    if len(versions) != 1:
        if told is not None:
            text = "should be nil if servers do not agree on the same encoding version, or if there is no server "
            yield invalid_value(path, told, f"{text}reporting the supported versions yet")
        return
    (common,) = versions
    if told is None:
        yield invalid_value(path, None, f"the common encoding version is {common}")
    elif told != common:
        yield invalid_value(path, told, f"the actual common encoding version is {common}")


def _validate_conditions(conditions: Sequence[Object]) -> Errors:
    """Errors of conditions, whose places lack the name of the list."""
    seen: dict[str, int] = {}
    for index, condition in enumerate(conditions):
        path, kind = f"status[{index}]", condition.get("type") or ""
        if kind in seen:
            text = f"the type of the condition is not unique, it also appears in conditions[{seen[kind]}]"
            yield invalid_value(f"{path}.type", kind, text)
        seen[kind] = index
        for name in ("type", "status"):
            value = condition.get(name) or ""
            yield from (invalid_value(f"{path}.{name}", value, text) for text in qualified_name(value))
        for name in ("reason", "message"):
            if not condition.get(name):
                told = Worded("required-values-told-alone", "", f"{name} cannot be empty")
                yield required(f"{path}.{name}", told)


def _servers(obj: Object) -> str:
    servers = at(obj, "status", "storageVersions") or ()
    return few([f"{server.get('apiServerID', '')}={server.get('encodingVersion', '')}" for server in servers], UNSET)


STRATEGIES: Final = {
    "StorageVersion": Strategy(
        validate_name=_validate_name,
        metadata_checks=MetadataChecks((), part=()),
        prepare=prepared(spec=True, status={}),
        print_row=columns(lambda obj: at(obj, "status", "commonEncodingVersion") or UNSET, _servers),
        subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
        status_reset_fields=(("metadata",),),
        allow_unconditional_update=False,
    ),
}
