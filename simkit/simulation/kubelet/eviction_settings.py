"""The settings of kubelets about pressure: what has to be free on a node, and how long a condition lasts.

Upstream: pkg/kubelet/apis/config/v1beta1/defaults_linux.go and pkg/kubelet/eviction/api/types.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Self

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
EvictionSetting = str | int | Mapping[str, str]
"""A setting of a KubeletConfiguration about evictions or images: one value, or one for each signal."""


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


def checked_periods(given: Mapping[str, str]) -> Mapping[str, str]:
    """The same durations by signal. Raises ValueError for one that is wrong, and for a signal that is not simulated."""
    for signal, text in given.items():
        checked_signal(signal)
        checked_period(text)
    return given


def checked_signal(signal: str) -> str:
    """The same signal. Raises ValueError for one that is not simulated."""
    if signal not in SIGNALS:
        raise ValueError(f"no eviction signal {signal!r} is simulated; there are {', '.join(SIGNALS)}")
    return signal


class EvictionSettings(BaseModel):
    """The settings of one kubelet.

    Attributes
    ----------
    eviction_hard
        Amounts, or percentages, that have to be free: ``memory.available``, ``nodefs.available``,
        ``imagefs.available``, ``nodefs.inodesFree``, ``imagefs.inodesFree`` and ``pid.available``; those that are not
        named never matter.
    eviction_soft, eviction_soft_grace_period
        Amounts that have to be free, but for a time, which each of them needs.
    eviction_minimum_reclaim
        Amounts that have to be free beyond a threshold once pods were evicted for it.
    eviction_max_pod_grace_period
        The most seconds that pods have to stop when they are evicted for a soft threshold.
    image_gc_high_threshold_percent, image_gc_low_threshold_percent
        The share of the disk at which images are removed that no pod uses, and at which no more are.
    eviction_pressure_transition_period
        The time for which a node stays under pressure after that is over.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    eviction_hard: Thresholds = Field(default_factory=lambda: dict(HARD))
    eviction_pressure_transition_period: Annotated[str, AfterValidator(checked_period)] = "5m"
    eviction_soft: Thresholds = Field(default_factory=dict)
    eviction_soft_grace_period: Annotated[Mapping[str, str], AfterValidator(checked_periods)] = Field(
        default_factory=dict
    )
    eviction_minimum_reclaim: Thresholds = Field(default_factory=dict)
    eviction_max_pod_grace_period: Annotated[int, Field(ge=0)] = 0
    image_gc_high_threshold_percent: Annotated[int, Field(ge=0, le=100)] = 85
    image_gc_low_threshold_percent: Annotated[int, Field(ge=0, le=100)] = 80

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for signal in self.eviction_soft:
            if signal not in self.eviction_soft_grace_period:
                raise ValueError(f"grace period must be specified for the soft eviction threshold {signal}")
        high, low = self.image_gc_high_threshold_percent, self.image_gc_low_threshold_percent
        if low > high:
            raise ValueError(f"LowThresholdPercent {low} can not be higher than HighThresholdPercent {high}")
        return self

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
