"""The scope of a question: one namespace, the whole cluster, or anywhere."""

from __future__ import annotations

from typing import Final

from simkit.meta.errors import SimkitError

WHOLE_CLUSTER: Final = "*"
"""The text for the whole cluster, in arguments as in the column ``scope``."""


def scope_of(namespace: str | None) -> str | None:
    """The namespace of a question for the index: empty for the whole cluster, None for anywhere.

    Raises
    ------
    SimkitError
        For an empty text.

    Examples
    --------
    >>> scope_of("dev"), scope_of("*"), scope_of(None)
    ('dev', '', None)
    """
    if namespace == "":
        raise SimkitError("the namespace is empty: name one, write '*' for the whole cluster, or leave it out (None)")
    return "" if namespace == WHOLE_CLUSTER else namespace
