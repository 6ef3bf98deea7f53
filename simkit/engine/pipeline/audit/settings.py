"""Settings of audit backends: their mode and batches. Names follow kube-apiserver's flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["batch", "blocking", "blocking-strict"]


@dataclass(frozen=True, slots=True)
class Batching:
    """The limits of batches in the mode ``batch``."""

    buffer_size: int = 10_000
    """Events that may be buffered; further ones are dropped and counted."""
    max_size: int = 400
    """Events in a batch."""
    max_wait: float = 30.0
    """Seconds after which a smaller batch is sent; 0 does not wait."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The file of events."""

    mode: Mode = "blocking"
    batching: Batching = Batching(max_size=1, max_wait=0.0)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The service that receives events."""

    mode: Mode = "batch"
    initial_backoff: float = 10.0
    """Seconds before the first retry of a failed call."""
    batching: Batching = field(default_factory=Batching)
