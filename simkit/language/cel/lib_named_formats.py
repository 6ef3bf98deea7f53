"""Named formats, which validate a text: ``format.dns1123Label().validate(name)``.

k8s.io/apiserver/pkg/cel/library/format.go, release 1.31.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from simkit.language.cel.declarations import Library, Overload, declared
from simkit.language.cel.lib_url import error_of
from simkit.language.cel.types import parsed
from simkit.language.cel.values import NONE, Optional
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.name_validation import dns1035_label, dns_label, dns_subdomain, label_value, port_name, qualified_name
from simkit.meta.wording import Text, told
from simkit.schema.custom.formats import FORMATS as SCHEMA_FORMATS


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format: its check of a text, and the size for the cost of a check."""

    cel_kind: ClassVar[str] = "kubernetes.NamedFormat"
    name: str
    errors: Callable[[str], Sequence[Text]]
    pattern_size: int


_LONGEST_PATTERN: Final = 128


def _of_schemas(name: str, told: str) -> Callable[[str], Sequence[str]]:
    """A format that schemas of custom resources also have."""
    holds = SCHEMA_FORMATS[name]
    return lambda text: [] if holds(text) else [told]


def _uri(text: str) -> Sequence[str]:
    found = error_of(text)
    return [found] if found else []


FORMATS: Final[Mapping[str, NamedFormat]] = {
    "dns1123Label": NamedFormat("DNS1123Label", dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", qualified_name, 60),
    "portName": NamedFormat("PortName", port_name, 20),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", partial(dns_label, prefix=True), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", partial(dns_subdomain, prefix=True), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", partial(dns1035_label, prefix=True), 30),
    "labelValue": NamedFormat("LabelValue", label_value, 40),
    "uri": NamedFormat("URI", _uri, _LONGEST_PATTERN),
    "uuid": NamedFormat("uuid", _of_schemas("uuid", "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _of_schemas("byte", "invalid base64"), 85),
    "date": NamedFormat("date", _of_schemas("date", "invalid date"), 75),
    "datetime": NamedFormat("datetime", _of_schemas("datetime", "invalid datetime"), 75),
}
"""The formats by the names that expressions know."""


def named(name: str) -> Optional:
    """The format of a name, as an optional."""
    found = FORMATS.get(name)
    return NONE if found is None else Optional(True, found)


def validated(behaviour: ServedBehaviour, found: NamedFormat, text: str) -> Optional:
    """The errors of a text in the words of a release, as an optional list; none if it is valid.

    Examples
    --------
    >>> behaviour = ServedBehaviour(31)
    >>> validated(behaviour, FORMATS["dns1123Label"], "fine").present
    False
    >>> validated(behaviour, FORMATS["uuid"], "x").value
    ['does not match the UUID format']
    """
    wrong = [told(error, behaviour) for error in found.errors(text)]
    return Optional(True, wrong) if wrong else NONE


def _constant(name: str, found: NamedFormat) -> Overload:
    return declared(f"format.{name}", f"format.{name}() NamedFormat", lambda: found)


NAMED_FORMATS: Final = Library(
    "named formats",
    (1, 31),
    (
        declared("format-named", "format.named(string) optional(NamedFormat)", named),
        *(_constant(name, found) for name, found in FORMATS.items()),
    ),
    types=(parsed("NamedFormat"),),
)


def validation(behaviour: ServedBehaviour) -> Library:
    """The function that validates a text against a format, as a server has it."""
    run = partial(validated, behaviour)
    return Library(
        "validation",
        NAMED_FORMATS.since,
        (declared("format-validate", "NamedFormat.validate(string) optional(list(string))", run),),
    )
