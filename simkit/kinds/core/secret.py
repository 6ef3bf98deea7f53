"""Strategy of Secret: validation of types and keys. ``stringData`` is merged into ``data`` and never returned.

Follows ``pkg/registry/core/secret/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Final

from simkit.kinds.parts.cells import columns, count
from simkit.kinds.parts.copy_on_write import prepared
from simkit.kinds.parts.validation.fields import LARGEST, validate_key
from simkit.kinds.parts.validation.pem import key_pair_error
from simkit.kinds.rules import by, changes, fixed, immutable, last, validation, whole
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy, selecting
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, invalid_value, required, too_long
from simkit.meta.go_json import go_kind
from simkit.meta.go_json_errors import syntax_text
from simkit.meta.objects import Draft, Object, annotations_of, metadata, name_of

OPAQUE: Final = "Opaque"
TOKEN: Final = label("service-account-token")
ACCOUNT_NAME: Final = label("service-account.name")
ACCOUNT_UID: Final = label("service-account.uid")
_DOCKER_CONFIG, _DOCKER_JSON = label("dockercfg"), label("dockerconfigjson")
_BASIC, _SSH, _TLS = label("basic-auth"), label("ssh-auth"), label("tls")


def is_token_of(secret: Object, account: Object) -> bool:
    """True if a secret is for a token of a service account: by its type, and by name and uid in its annotations."""
    notes, uid = annotations_of(secret), metadata(account).get("uid", "")
    named = secret.get("type") == TOKEN and notes.get(ACCOUNT_NAME) == name_of(account)
    return named and notes.get(ACCOUNT_UID, uid) in ("", uid)


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    if not draft.get("type"):
        draft["type"] = OPAQUE
    texts = draft.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        draft["data"] = {**(draft.get("data") or {}), **encoded}


def _validate_data(behaviour: ServedBehaviour, path: str, obj: Object) -> Errors:
    data: Mapping[str, str] = obj.get("data") or {}
    for key in data:
        yield from validate_key(behaviour, f".data[{key}]", key)
    if sum(len(base64.b64decode(value)) for value in data.values()) > LARGEST:
        yield too_long(".data", LARGEST)
    kind = obj.get("type") or ""
    if kind == TOKEN:
        if not annotations_of(obj).get(ACCOUNT_NAME):
            yield required(f".metadata.annotations[{ACCOUNT_NAME}]")
    elif kind == _BASIC:
        if "username" not in data and "password" not in data:
            yield required(".data[username]")
            yield required(".data[password]")
    else:
        yield from _demanded(kind, data)


def _demanded(kind: str, data: Mapping[str, str]) -> Errors:
    """The errors of missing keys that a type requires."""
    documents = {_DOCKER_CONFIG: ".dockercfg", _DOCKER_JSON: ".dockerconfigjson"}
    if kind in documents:
        name = documents[kind]
        if name not in data:
            yield required(f".data[{name}]")
        elif wrong := _why_no_document(data[name]):
            yield invalid_value(f".data[{name}]", "<secret contents redacted>", wrong)
    elif kind == _SSH and not data.get("ssh-privatekey"):
        yield required(".data[ssh-privatekey]")
    elif kind == _TLS:
        yield from (required(f".data[{name}]") for name in ("tls.crt", "tls.key") if name not in data)


def _why_no_document(encoded: str) -> str:
    """The JSON error of Go for bytes that are no JSON object; empty for an object or ``null``."""
    content = base64.b64decode(encoded)
    try:
        found = json.loads(content.decode("utf-8", "surrogateescape"), parse_int=float)  # of any length
    except RecursionError:
        return "exceeded max depth"
    except json.JSONDecodeError as error:
        return syntax_text(error)
    if found is None or isinstance(found, dict):
        return ""
    return f"json: cannot unmarshal {go_kind(found)} into Go value of type map[string]interface {{}}"


_DATA: Final = by(_validate_data)


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about the key pair of a TLS secret, which is stored anyway."""
    if obj.get("type") != _TLS or not behaviour.applies("key-pairs-warned-of"):
        return ()
    data: Mapping[str, str] = obj.get("data") or {}
    certificates, key = (base64.b64decode(data.get(name) or "") for name in ("tls.crt", "tls.key"))
    error = key_pair_error(certificates, key)
    return (error,) if error else ()


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
    default=_default,
    prepare=prepared(without=("data",)),
    validate=validation(created=(_DATA,), changed=changes(fixed("type"), immutable("data"))),
    validate_last=last(whole(_DATA)),
    print_row=columns("type", count("data")),
    selectable_fields=selecting("type"),
    warnings=_warnings,
)
