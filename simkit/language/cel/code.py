"""A piece of generated Python."""

from __future__ import annotations

from typing import NamedTuple

from simkit.language.cel.decl_types import DeclType


class Code(NamedTuple):
    """A Python expression; ``declared`` is set where its value is still JSON of that declared type."""

    text: str
    declared: DeclType | None = None
