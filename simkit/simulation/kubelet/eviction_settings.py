"""The settings of kubelets about pressure: what has to be free on a node, and how long a condition lasts.

Upstream: pkg/kubelet/apis/config/v1beta1/defaults_linux.go and pkg/kubelet/eviction/api/types.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from simkit.meta.duration import seconds
from simkit.meta.quantity import QuantityError, parse

SIGNALS: Final[Mapping[str, str]] = {
    "memory.available": "memory",
    "nodefs.available": "ephemeral-storage",
    "imagefs.available": "ephemeral-storage",
    "nodefs.inodesFree": "inodes",
    "imagefs.inodesFree": "inodes",
    "pid.available": "pids",
}
"""The signals that are simulated, with their resources; images and everything else are on one file system."""
HARD: Final[Mapping[str, str]] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "imagefs.available": "15%",
    "nodefs.inodesFree": "5%",
    "imagefs.inodesFree": "5%",
    "pid.available": "5%",
}
"""The thresholds of kubelets by default. They have none for process numbers; but here these count only if a test says
how many are used."""
PROCESS_NUMBERS: Final = 32_768
"""The process numbers of a node."""
INODES: Final = 6_553_600
"""The inodes of the file system of a node, which has one for each 16 KiB of 100 GiB."""


def percentage(text: str) -> float | None:
    """The share that a percentage means; None for a text that is none.

    Examples
    --------
    >>> percentage("10%"), percentage("100Mi"), percentage("x%")
    (0.1, None, None)
    """
    if not text.endswith("%"):
        return None
    try:
        return float(text[:-1]) / 100
    except ValueError:
        return None


def checked_thresholds(given: Mapping[str, str]) -> Mapping[str, str]:
    """The same thresholds. Raises ValueError for a signal that is not simulated, and for a wrong amount."""
    for signal, text in given.items():
        checked_signal(signal)
        checked_amount(text)
    return given


Thresholds = Annotated[Mapping[str, str], AfterValidator(checked_thresholds)]


def checked_amount(text: str) -> str:
    """The same text: a quantity, or a percentage from 0% to 100%. Raises ValueError."""
    share = percentage(text)
    if share is None:
        try:
            parse(text)
        except QuantityError as error:
            raise ValueError(f"{text!r} is neither an amount, such as 100Mi, nor a percentage: {error}") from error
    elif not 0 <= share <= 1:
        raise ValueError(f"{text!r} is not between 0% and 100%")
    return text


def checked_period(text: str) -> str:
    """The same duration. Raises ValueError for one that is wrong or negative."""
    if seconds(text) < 0:
        raise ValueError(f"{text!r} is negative")
    return text


def checked_signal(signal: str) -> str:
    """The same signal. Raises ValueError for one that is not simulated."""
    if signal not in SIGNALS:
        raise ValueError(f"no eviction signal {signal!r} is simulated; there are {', '.join(SIGNALS)}")
    return signal


_NOT_SIMULATED: Final = (
    "eviction_soft",
    "eviction_soft_grace_period",
    "eviction_minimum_reclaim",
    "eviction_max_pod_grace_period",
    "image_gc_high_threshold_percent",
    "image_gc_low_threshold_percent",
)


class EvictionSettings(BaseModel):
    """The settings of one kubelet.

    Attributes
    ----------
    eviction_hard
        Amounts, or percentages, that have to be free: ``memory.available``, ``nodefs.available``,
        ``imagefs.available``, ``nodefs.inodesFree``, ``imagefs.inodesFree`` and ``pid.available``; those that are not
        named never matter.
    eviction_pressure_transition_period
        The time for which a node stays under pressure after that is over.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    eviction_hard: Thresholds = Field(default_factory=lambda: dict(HARD))
    eviction_pressure_transition_period: Annotated[str, AfterValidator(checked_period)] = "5m"

    @model_validator(mode="before")
    @classmethod
    def _is_simulated(cls, given: Any) -> Any:
        if named := [name for name in _NOT_SIMULATED if isinstance(given, Mapping) and name in given]:
            raise ValueError(
                f"{named[0]} is not simulated: kubelets evict pods for hard thresholds (eviction_hard) alone"
            )
        return given

    @property
    def transition_period(self) -> float:
        """The seconds for which a condition stays after its threshold was met last."""
        return seconds(self.eviction_pressure_transition_period)


def field_named(name: str) -> str:
    """The name of a setting here for its name in a KubeletConfiguration.

    Examples
    --------
    >>> field_named("evictionSoft"), field_named("imageGCHighThresholdPercent")
    ('eviction_soft', 'image_gc_high_threshold_percent')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
