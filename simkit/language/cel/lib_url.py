"""URLs and absolute paths, parsed; and named formats, which validate a text: ``format.dns1123Label().validate(name)``.

k8s.io/apiserver/pkg/cel/library/urls.go, release 1.30, and format.go, release 1.31; Go's package net/url.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final
from urllib.parse import quote, unquote, unquote_plus

from simkit.language.cel.declarations import Library, Overload, declared, takes
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.types import parsed
from simkit.language.cel.values import NONE, Optional
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import quoted
from simkit.meta.name_validation import dns1035_label, dns_label, dns_subdomain, label_value, port_name, qualified_name
from simkit.meta.wording import Text, told
from simkit.schema.custom.formats import FORMATS as SCHEMA_FORMATS

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PATH_KEPT: Final = re.compile(r"[A-Za-z0-9$&+,/:;=@\-_.~!*'()\[\]]")


@dataclass(frozen=True, slots=True)
class UrlValue:
    """The parts of a URL; ``path`` is unescaped, ``escaped_path`` is as on the wire."""

    cel_kind: ClassVar[str] = "kubernetes.URL"
    scheme: str
    host: str
    path: str
    escaped_path: str
    query: str
    opaque: str = ""
    user: str = ""

    @property
    def port(self) -> str:
        """The digits after the last colon of the host."""
        found = re.search(r":(\d*)$", self.host) if not self.host.endswith("]") else None
        return found[1] if found else ""

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        name = self.host[: -len(self.port) - 1] if re.search(r":\d*$", self.host) else self.host
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name


class _NoUrl(Exception):
    """The reason why a text is no URL."""


def _parse(text: str) -> UrlValue:
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in text):
        raise _NoUrl("net/url: invalid control character in URL")
    if not text:
        raise _NoUrl("empty url")
    found = _SCHEME.match(text)
    scheme, rest = (found[1].lower(), text[found.end() :]) if found else ("", text)
    if not found and text.startswith(":"):
        raise _NoUrl("missing protocol scheme")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return UrlValue(scheme, "", "", "", query, opaque=rest)
        raise _NoUrl("invalid URI for request")
    host = user = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, tail = rest[2:].partition("/")
        rest = slash + tail
        user, _, host = authority.rpartition("@")
        host = _checked_host(host)
    escape = _BAD_ESCAPE.search(rest)
    if escape:
        raise _NoUrl(f'invalid URL escape "{rest[escape.start() : escape.start() + 3]}"')
    path = unquote(rest)
    return UrlValue(scheme, host, path, _escaped(path, rest), query, user=user)


def _checked_host(host: str) -> str:
    closing = host.rfind("]")
    if host.startswith("["):
        if closing < 0:
            raise _NoUrl("missing ']' in host")
        port = host[closing + 1 :]
    else:
        port = host[host.rfind(":") :] if ":" in host else ""
    if port and not re.fullmatch(r":\d*", port):
        raise _NoUrl(f'invalid port "{port}" after host')
    for letter in host:
        if letter in ' "<>\\^`{|}':
            raise _NoUrl(f'invalid character "{letter}" in host name')
    return host


def _escaped(path: str, written: str) -> str:
    """The path as written if that is a valid escaping, else escaped again."""
    if all(_PATH_KEPT.match(letter) or letter == "%" for letter in written):
        return written
    return quote(path, safe="$&+,/:;=@")


def url(text: str) -> UrlValue:
    """The URL in a text."""
    try:
        return _parse(text)
    except _NoUrl:
        raise EvaluationError(f"URL parse error during conversion from string: {error_of(text)}") from None


def error_of(text: str) -> str:
    """The reason why the text is no URL; empty if it is one."""
    try:
        _parse(text)
    except _NoUrl as error:
        return f"parse {quoted(text)}: {error}"
    return ""


def _query(found: UrlValue) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for part in found.query.split("&"):
        if part and ";" not in part and not _BAD_ESCAPE.search(part):
            name, _, value = part.partition("=")
            values.setdefault(unquote_plus(name), []).append(unquote_plus(value))
    return values


URLS: Final = Library(
    "url",
    (1, 0),
    (
        declared("string_to_url", "url(string) URL", url),
        declared("url_get_scheme", "URL.getScheme() string", lambda found: found.scheme),
        declared("url_get_host", "URL.getHost() string", lambda found: found.host),
        declared("url_get_hostname", "URL.getHostname() string", lambda found: found.hostname),
        declared("url_get_port", "URL.getPort() string", lambda found: found.port),
        declared("url_get_escaped_path", "URL.getEscapedPath() string", lambda found: found.escaped_path),
        declared("url_get_query", "URL.getQuery() map(string,list(string))", _query),
        declared("is_url_string", "isURL(string) bool", takes(url)),
    ),
)


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
