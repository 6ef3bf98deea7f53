"""Strategies of Lease and LeaseCandidate.

Follows ``pkg/registry/coordination`` and ``pkg/apis/coordination/validation/validation.go``, releases 1.30 and 1.36.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.kinds.parts.cells import columns
from simkit.kinds.parts.copy_on_write import prepared
from simkit.kinds.parts.validation.fields import key_texts
from simkit.kinds.rules import REQUIRED, by, fields, fixed, must, row, validation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, invalid_value, unsupported
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Object

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"


def validate_coordinated_strategy(behaviour: ServedBehaviour, path: str, strategy: str) -> Errors:
    """The errors of a strategy by which servers elect a leader together: a known one, or a name with a domain.

    They are told below the path, as in ``ValidateCoordinatedLeaseStrategy``, release 1.36.
    """
    if "/" in strategy:
        yield from (invalid_value(f"{path}.strategy", strategy, text) for text in qualified_name(strategy))
    elif strategy != OLDEST_EMULATION_VERSION:
        yield unsupported(f"{path}.strategy", strategy, (OLDEST_EMULATION_VERSION,))


_NUMBER: Final = r"(0|[1-9][0-9]*)"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LARGEST: Final = 2**64 - 1
_DIGITS: Final = len(str(_LARGEST))

Precedence = tuple[tuple[int, ...], tuple[tuple[int, int, str], ...]]
"""The order of versions: numbers, then the parts of a pre-release; a version without one comes after all of these."""
_NO_PRERELEASE: Final = ((2, 0, ""),)


def precedence(text: str) -> Precedence | None:
    """The precedence of a version; None if the text is no semantic version.

    Examples
    --------
    >>> precedence("1.2.3-alpha.1") < precedence("1.2.3-alpha.beta") < precedence("1.2.3")
    True
    >>> precedence("1.2"), precedence("v1.2.3"), precedence("1.2.3-01")
    (None, None, None)
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    parts = found[4].split(".") if found[4] else []
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
        return None
    numbers = [*found.groups()[:3], *filter(str.isdigit, parts)]
    if any(len(number) > _DIGITS or int(number) > _LARGEST for number in numbers):
        return None
    named = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    return tuple(int(number) for number in found.groups()[:3]), named or _NO_PRERELEASE


_SEMVER: Final = must.hold(precedence, "must be a valid semantic version")
_ZERO: Final = precedence("0.0.0")


def _emulated(spec: Object) -> Precedence:
    return precedence(spec.get("emulationVersion") or "") or _ZERO  # type: ignore[return-value]


def _is_too_old(spec: Object) -> bool:
    """True if the binary is older than the version that it emulates."""
    return (precedence(spec.get("binaryVersion") or "") or _ZERO) < _emulated(spec)  # type: ignore[operator]


def _emulates_nothing(spec: Object) -> bool:
    return spec.get("strategy") == OLDEST_EMULATION_VERSION and _emulated(spec) == _ZERO


_UNKNOWN_AGE: Final = f"must be specified when `strategy` is '{OLDEST_EMULATION_VERSION}'"


STRATEGIES: Final = {
    "Lease": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        unqualified_finalizers=True,
        prepare=prepared(spec=True),
        validate=validation(
            row("spec.leaseDurationSeconds", must.be_positive),
            row("spec.leaseTransitions", must.be_nonnegative),
            row("spec.strategy", by(validate_coordinated_strategy), empty=True),
            row(
                "spec.preferredHolder",
                must.be_absent("may only be specified if `strategy` is defined"),
                unless=fields.given("spec.strategy"),
            ),
        ),
        print_row=columns("spec.holderIdentity"),
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
    "LeaseCandidate": Strategy(
        validate_name=lambda name, _: key_texts(name),
        metadata_checks=MetadataChecks((CHANGES,)),
        unqualified_finalizers=True,
        validate=validation(
            row(
                "spec",
                row("leaseName", REQUIRED),
                row("emulationVersion", _SEMVER),
                row("binaryVersion", REQUIRED, _SEMVER),
                row(
                    "binaryVersion",
                    must.be_otherwise("must be greater than or equal to `emulationVersion`"),
                    when=_is_too_old,
                ),
                row("emulationVersion", must.be_set(_UNKNOWN_AGE), when=_emulates_nothing, zero=""),
                row("strategy", REQUIRED, by(validate_coordinated_strategy)),
                zero={},
            ),
            changed=fixed("spec.leaseName", zero=""),
        ),
        print_row=columns("spec.leaseName", "spec.binaryVersion", "spec.emulationVersion"),
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
}
