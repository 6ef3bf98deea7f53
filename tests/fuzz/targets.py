"""Readers of bytes from outside, and the errors by which they may refuse them. Anything else is a fault.

The structured ones (``structures``) make requests of the bytes, and must not be answered by 500.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from simkit.language.cel.errors import CompileError
from simkit.language.cel.grammar import parse as parse_expression
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode, decode_body
from simkit.meta import fields, go_json, labels, quantity
from simkit.meta.duration import seconds
from tests.fuzz.outside import OUTSIDE
from tests.fuzz.structures import STRUCTURED, Choices

Reader = Callable[[bytes], Any]


_MADE = {**STRUCTURED, **OUTSIDE}


def _structured(name: str) -> Reader:
    return lambda data: _MADE[name](Choices(data))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


TARGETS: dict[str, tuple[Reader, tuple[type[Exception], ...]]] = {
    "json": (go_json.read, (go_json.Malformed,)),
    "yaml": (lambda data: decode_body(_text(data), []), (BrokenText,)),
    "document": (lambda data: decode(_text(data)), (BrokenText,)),
    "labels": (lambda data: labels.parse(_text(data)), (ValueError,)),
    "fields": (lambda data: fields.parse(_text(data)), (ValueError,)),
    "quantity": (lambda data: quantity.parse(_text(data)), (quantity.QuantityError,)),
    "duration": (lambda data: seconds(_text(data)), (ValueError,)),
    "expression": (lambda data: parse_expression(_text(data)), (CompileError,)),
    **{name: (_structured(name), ()) for name in _MADE},
}


def read(name: str, data: bytes) -> None:
    """Read some bytes; raises what is no refusal."""
    reader, refusals = TARGETS[name]
    with contextlib.suppress(*refusals):
        reader(data)
