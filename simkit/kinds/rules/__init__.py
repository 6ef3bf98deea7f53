"""Validation as tables: a row names a field, what its value must be, and the releases in which that is asked.

The rows of a table are asked in order, which is the order of kube-apiserver's errors::

    TOKEN = table(
        row("audience", REQUIRED, must.be(dns_subdomain)),
        row("expirationSeconds", must.be_between(600, 1 << 32)),
        row("keys[]", must.be(qualified_name), since="keys-of-tokens-checked"),
        row("secret", must.be_absent("may only be set with `audience`"), unless=fields.given("audience")),
        row("parts[]", row("name", REQUIRED), distinct("name")),
    )

A check takes a value and returns its errors, whose fields are relative to the value (``""``, ``.name``, ``[0].name``).
Rows, tables and what stands in a row are all checks, so that a row may hold the rows of what is below its field. What
has to be computed is a function with a path and a value, which ``by`` makes a check of.
"""

from __future__ import annotations

from simkit.kinds.rules import fields, must
from simkit.kinds.rules.row import (
    FIXED,
    REQUIRED,
    Change,
    Check,
    Condition,
    Row,
    at_root,
    by,
    changes,
    distinct,
    first,
    fixed,
    immutable,
    items,
    last,
    placed,
    row,
    table,
    validation,
    whole,
)

__all__ = [
    "FIXED",
    "REQUIRED",
    "Change",
    "Check",
    "Condition",
    "Row",
    "at_root",
    "by",
    "changes",
    "distinct",
    "fields",
    "first",
    "fixed",
    "immutable",
    "items",
    "last",
    "must",
    "placed",
    "row",
    "table",
    "validation",
    "whole",
]
