"""Strategy of CSIDriver: defaulting, validation, printer columns.

Follows ``pkg/registry/storage/csidriver/strategy.go`` and ``pkg/apis/storage/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from simkit.kinds.parts.copy_on_write import own_copy
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.pod.validation.volumes import TOKEN_SECONDS
from simkit.kinds.parts.printers.cells import NONE, UNSET, columns, flag
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.rules import by, changes, fields, fixed, must, placed, row, validation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, duplicate, unsupported
from simkit.meta.objects import Draft, Object, at

_DEFAULTS: Final = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}
_LOGGED_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    for name, value in _DEFAULTS.items():
        if spec.get(name) is None:
            spec[name] = value
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Raise the generation when the spec changes; a new driver has none."""
    if old is not None and spec_differs(draft, old):
        draft["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _validate_tokens(behaviour: ServedBehaviour, path: str, requests: Sequence[Object]) -> Iterator[FieldError]:
    again = repeats(request["audience"] for request in requests)
    for index, request in enumerate(requests):
        if index in again:
            yield duplicate(f"{path}[{index}].audience", request["audience"])
        elif request.get("expirationSeconds") is not None:
            yield from placed(
                f"{path}[{index}].expirationSeconds", TOKEN_SECONDS(behaviour, request["expirationSeconds"])
            )


def _validate_modes(behaviour: ServedBehaviour, path: str, modes: Sequence[str]) -> Iterator[FieldError]:
    known = ("Persistent", "Ephemeral")
    return (unsupported(path, mode, known) for mode in modes if mode not in known)


_RULES: Final = validation(
    row("spec.fsGroupPolicy", must.be_one_of("File", "None", "ReadWriteOnceWithFSType"), empty=True),
    row("spec.tokenRequests", by(_validate_tokens)),
    row("spec.volumeLifecycleModes", by(_validate_modes)),
    row(
        "spec.nodeAllocatableUpdatePeriodSeconds",
        must.hold(lambda seconds: seconds >= 10, "must be greater than or equal to 10 seconds"),
    ),
    row(
        "spec.serviceAccountTokenInSecrets",
        must.be_otherwise("serviceAccountTokenInSecrets is set but no tokenRequests are specified"),
        unless=fields.given("spec.tokenRequests"),
    ),
    changed=changes(
        fixed("spec.attachRequired", told="spec.attachedRequired"),
        fixed("spec.fsGroupPolicy", "spec.podInfoOnMount", until="csi-drivers-change-more"),
        fixed("spec.volumeLifecycleModes", shown=partial(texts, kind="storage.VolumeLifecycleMode")),
    ),
)


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    changed = old is None or at(old, "spec", "tokenRequests") != requests
    told = requests and changed and spec.get("serviceAccountTokenInSecrets") is None
    return [_LOGGED_TOKENS] if told and behaviour.applies("token-requests-of-drivers-warned") else []


def _audiences(obj: Object) -> str:
    requests = at(obj, "spec", "tokenRequests")
    return UNSET if requests is None else ",".join(request.get("audience") or "" for request in requests)


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=_prepare,
    validate=_RULES,
    warnings=_warnings,
    print_row=columns(
        lambda obj: (obj.get("spec") or {}).get("attachRequired", True),
        flag("spec.podInfoOnMount"),
        flag("spec.storageCapacity"),
        _audiences,
        flag("spec.requiresRepublish"),
        lambda obj: ",".join(at(obj, "spec", "volumeLifecycleModes") or ()) or NONE,
    ),
    allow_unconditional_update=False,
    return_deleted_object=True,
)
