"""Settings of audit backends: mode, batches, truncation and format. Names follow kube-apiserver's flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["batch", "blocking", "blocking-strict"]
Form = Literal["json", "legacy"]


@dataclass(frozen=True, slots=True)
class Batching:
    """The limits of batches in the mode ``batch``."""

    buffer_size: int = 10_000
    """Events that may be buffered; further ones are dropped and counted."""
    max_size: int = 400
    """Events in a batch."""
    max_wait: float = 30.0
    """Seconds after which a smaller batch is sent; 0 does not wait."""
    throttle: bool = True
    qps: float = 10.0
    """Batches per second, if they are throttled."""
    burst: int = 15
    """Batches that may be sent at once before that."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """The largest events and batches; sizes are in bytes."""

    enabled: bool = False
    max_event_size: int = 102_400
    max_batch_size: int = 10_485_760


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The file of events."""

    mode: Mode = "blocking"
    form: Form = "json"
    max_age: int = 0
    """Days for which old files are kept; 0: for ever."""
    max_backup: int = 0
    """Old files that are kept; 0: all."""
    max_size: int = 0
    """Megabytes after which a new file begins; 0: a hundred."""
    compress: bool = False
    batching: Batching = Batching(max_size=1, max_wait=0.0, throttle=False)
    truncation: Truncation = field(default_factory=Truncation)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The service that receives events."""

    mode: Mode = "batch"
    initial_backoff: float = 10.0
    """Seconds before the first retry of a failed call."""
    batching: Batching = field(default_factory=Batching)
    truncation: Truncation = field(default_factory=Truncation)
