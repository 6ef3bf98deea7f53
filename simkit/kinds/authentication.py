"""Strategy of TokenRequest: defaulting of the expiration, validation.

Follows ``pkg/apis/authentication/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.copy_on_write import missing
from simkit.kinds.strategy import Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.objects import Object, at

HOUR: Final = 3600
SHORTEST: Final = 600
LONGEST: Final = 2**32


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    field, seconds = "spec.expirationSeconds", at(obj, "spec", "expirationSeconds")
    if seconds < SHORTEST:
        return [invalid_value(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > LONGEST:
        return [invalid_value(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return ()


STRATEGIES: Final = {
    "TokenRequest": Strategy(default=missing("spec", {"expirationSeconds": HOUR}), validate=_validate),
}
