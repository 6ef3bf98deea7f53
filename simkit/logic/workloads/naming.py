"""Names that depend on contents: the hashes in names of replica sets and controller revisions.

pkg/controller/controller_utils.go (ComputeHash) and pkg/controller/history, release 1.30.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from simkit.language.merge.fieldset import escaped_json
from simkit.logic.workloads.template_hash_text import template_text
from simkit.meta.clock import SUFFIX_LETTERS

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_MASK: Final = 0xFFFFFFFF


def template_hash(template: Any, collisions: int | None = None) -> str:
    """The pod-template-hash of a pod template for a number of collisions.

    Examples
    --------
    >>> template_hash({"spec": {}}) == template_hash({"spec": {}}), template_hash({}) == template_hash({}, 1)
    (True, False)

    References
    ----------
    FNV-1a of 32 bits over the structure as Go prints it with its types: pkg/util/hash of release 1.30.
    """
    number = _OFFSET
    more = b"" if collisions is None else collisions.to_bytes(8, "little")
    for byte in template_text(template).encode() + more:
        number = ((number ^ byte) * _PRIME) & _MASK
    return _safe(number)


def revision_hash(data: Any, collisions: int = 0) -> str:
    """The hash of a controller revision with this data for a number of collisions.

    Examples
    --------
    >>> revision_hash({"spec": 1}), revision_hash({"spec": 1}, 1)
    ('6c6d4757f9', '6c6d4757f8')

    References
    ----------
    FNV-1 of 32 bits over the JSON text: pkg/controller/history of release 1.30.
    """
    number = _OFFSET
    text = escaped_json(orjson.dumps(data, option=orjson.OPT_SORT_KEYS).decode())
    for byte in f"{text}{collisions}".encode():
        number = ((number * _PRIME) & _MASK) ^ byte
    return _safe(number)


def _safe(number: int) -> str:
    """A number in letters that make no words (SafeEncodeString of k8s.io/apimachinery/pkg/util/rand)."""
    return "".join(SUFFIX_LETTERS[ord(digit) % len(SUFFIX_LETTERS)] for digit in str(number))
