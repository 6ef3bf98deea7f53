"""Rules by which people accept what an analysis found: with a reason, and until a day."""

from __future__ import annotations

from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Acceptance(BaseModel):
    """A reason, and the last day of acceptance (inclusive); subclasses say in further fields what is accepted.

    Each of their fields is a text that may hold ``*``, and matches everything where it is left out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: str = Field(min_length=1, pattern=r"\S")
    expires: date | None = None

    @model_validator(mode="after")
    def _about_something(self) -> Self:
        names = [name for name in type(self).model_fields if name not in Acceptance.model_fields]
        if all(getattr(self, name) == "*" for name in names):
            raise ValueError(f"say what is accepted: {', '.join(names[:-1])} or {names[-1]}")
        return self

    def expired(self, today: date) -> bool:
        """True if the last day of acceptance has passed."""
        return self.expires is not None and self.expires < today
