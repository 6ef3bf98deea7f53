"""Severities of held permissions: one scale for primitives and for the findings of an audit."""

from __future__ import annotations

import enum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError


class Severity(enum.StrEnum):
    """A severity. Levels are words that compare by what they mean, also with plain words.

    Examples
    --------
    >>> Severity.HIGH > Severity.LOW, Severity.HIGH >= "critical", Severity.HIGH == "high"
    (True, False, True)
    """

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """The place of the level: 0 for ``info``."""
        return _RANKS[self.value]

    def __lt__(self, other: str) -> bool:
        return self.rank < Severity.named(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Severity.named(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Severity.named(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Severity.named(other).rank

    @property
    def word(self) -> str:
        """The level as a plain word."""
        return self.value

    @classmethod
    def named(cls, word: str) -> Severity:
        """The level of a word such as ``high``. Raises SimkitError for other words."""
        try:
            return cls[word.upper()]
        except KeyError:
            words = ", ".join(level.word for level in cls)
            raise SimkitError(f"there is no severity {word!r}; use one of {words}") from None


_RANKS: Final = {"info": 0, "low": 1, "medium": 2, "high": 3, "critical": 4}
LEVELS: Final = tuple(sorted(Severity, reverse=True))
"""The severities, worst first."""


class Severities(BaseModel):
    """The severity of a permission by scope: everywhere, in one namespace, for single names only.

    A single word in the table stands for all three. None: it cannot be held so, or it does not matter so.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cluster: Severity
    namespace: Severity | None = None
    names: Severity | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_word(cls, value: Any) -> Any:
        return {"cluster": value, "namespace": value, "names": value} if isinstance(value, str) else value

    @field_validator("cluster", "namespace", "names", mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return Severity.named(value) if isinstance(value, str) else value

    def at(self, namespace: str, *, by_name: bool = False) -> Severity | None:
        """The severity in a namespace (empty: everywhere), perhaps for single names only.

        ``kube-system`` counts as high, where the whole cluster does: the controllers of the cluster run there.

        Examples
        --------
        >>> Severities.model_validate({"cluster": "critical", "namespace": "medium"}).at("kube-system").word
        'high'
        """
        usual = self.namespace if namespace else self.cluster
        if usual is not None and namespace == SYSTEM_NAMESPACE:
            usual = max(usual, min(self.cluster, Severity.HIGH))
        if usual is None or not by_name:
            return usual
        return None if self.names is None else min(self.names, usual)


def worst(levels: tuple[Severity | None, ...]) -> Severity | None:
    """The worst of some severities; None if all are None."""
    return max((one for one in levels if one is not None), default=None)
