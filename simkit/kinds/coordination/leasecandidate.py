"""Strategy of LeaseCandidate: validation, printer columns.

Follows ``pkg/registry/coordination/leasecandidate/strategy.go`` and ``pkg/apis/coordination/validation/validation.go``,
release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.coordinated_strategy import OLDEST_EMULATION_VERSION, validate_coordinated_strategy
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.config_keys import key_texts
from simkit.kinds.parts.validation.fields import validate_immutable_field
from simkit.kinds.parts.validation.semver import precedence
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.objects import Object, name_of

_NO_SEMVER: Final = "must be a valid semantic version"
_ZERO: Final = precedence("0.0.0")


def _validate_name(name: str, prefix: bool) -> Sequence[str]:
    return key_texts(name)


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    errors = list(_validate_fields(spec))
    if old is not None:
        name, before = (each.get("leaseName") or "" for each in (spec, old.get("spec") or {}))
        errors += validate_immutable_field("spec.leaseName", name, before)
    return errors


def _validate_fields(spec: Object) -> Iterator[FieldError]:
    emulated, binary = spec.get("emulationVersion") or "", spec.get("binaryVersion") or ""
    if not spec.get("leaseName"):
        yield required("spec.leaseName")
    if emulated and precedence(emulated) is None:
        yield invalid_value("spec.emulationVersion", emulated, _NO_SEMVER)
    if not binary:
        yield required("spec.binaryVersion")
    elif precedence(binary) is None:
        yield invalid_value("spec.binaryVersion", binary, _NO_SEMVER)
    if emulated and binary and (precedence(binary) or _ZERO) < (precedence(emulated) or _ZERO):  # type: ignore[operator]
        yield invalid_value("spec.binaryVersion", binary, "must be greater than or equal to `emulationVersion`")
    yield from _validate_strategy(spec.get("strategy") or "", emulated)


def _validate_strategy(strategy: str, emulated: str) -> Iterator[FieldError]:
    if not strategy:
        yield required("spec.strategy")
        return
    if strategy == OLDEST_EMULATION_VERSION and (precedence(emulated) or _ZERO) == _ZERO:
        text = f"must be specified when `strategy` is '{OLDEST_EMULATION_VERSION}'"
        yield required("spec.emulationVersion", text)
    yield from validate_coordinated_strategy("spec.strategy", strategy)


def _row(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    cells = (spec.get(name) or "" for name in ("leaseName", "binaryVersion", "emulationVersion"))
    return [name_of(obj), *cells, created(obj, now)]


STRATEGY = Strategy(
    validate_name=_validate_name,
    metadata_checks=MetadataChecks((CHANGES,)),
    unqualified_finalizers=True,
    validate=_validate,
    print_row=_row,
    allow_create_on_update=True,
    allow_unconditional_update=False,
)
