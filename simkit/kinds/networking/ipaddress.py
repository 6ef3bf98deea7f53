"""Strategy of IPAddress: validation, printer columns.

Follows ``pkg/registry/networking/ipaddress/strategy.go`` and ``pkg/apis/networking/validation/validation.go``, release
1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import NONE, columns
from simkit.kinds.parts.validation.ip import validate_canonical_ip
from simkit.kinds.rules import REQUIRED, fixed, must, row, table, validation
from simkit.kinds.strategy import Strategy
from simkit.meta.name_validation import dns_subdomain, path_segment
from simkit.meta.objects import Object, at
from simkit.meta.wording import Text

_SHOWN: Final = partial(structure, "networking.ParentReference")


def _validate_name(name: str, prefix: bool) -> Sequence[Text]:
    """The errors of a name, which is an address as Go writes it, whether or not it is meant as a prefix."""
    return [error.detail for error in validate_canonical_ip("", name)]


def _parent(obj: Object) -> str:
    reference = at(obj, "spec", "parentRef")
    if reference is None:
        return NONE
    kind = f"{reference.get('resource', '')}.{reference.get('group', '')}".rstrip(".").lower()
    return "/".join(filter(None, (kind, reference.get("namespace"), reference.get("name"))))


STRATEGY = Strategy(
    validate_name=_validate_name,
    validate=validation(
        row(
            "spec.parentRef",
            must.be_given(pointer=True),
            table(
                row("group", must.be(dns_subdomain)),
                row("resource", REQUIRED, must.be(path_segment)),
                row("name", REQUIRED, must.be(path_segment)),
                row("namespace", must.be(path_segment)),
            ),
        ),
        changed=fixed("spec.parentRef", shown=lambda parent: parent and _SHOWN(parent)),
    ),
    print_row=columns(_parent),
)
