"""Content negotiation: the representation for an Accept header.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go and
k8s.io/apiserver/pkg/endpoints/handlers/negotiation/errors.go, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, lru_cache
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import META_GROUP, PROTOBUF_MEDIA_TYPE
from simkit.meta.errors import StatusError, not_acceptable, unsupported_media_type
from simkit.meta.message import Request

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = PROTOBUF_MEDIA_TYPE
MEDIA: Final = (JSON, YAML, PROTOBUF)
TEXT: Final = "text/plain"
_PARTIAL: Final = ("PartialObjectMetadata", "PartialObjectMetadataList")
_VERSIONS: Final = ("v1", "v1beta1")
STREAMS: Final = f"{JSON};stream=watch, {PROTOBUF};stream=watch"
"""The media types of watches, in the order of error messages."""


@dataclass(frozen=True, slots=True)
class MediaTypeOptions:
    """A media type, and the kind of the answer (empty: unchanged)."""

    media: str = JSON
    transform: str = ""
    version: str = ""
    pretty: bool = False
    include: str = ""
    """The object in the rows of a Table: Metadata (also where empty), Object or None."""


@dataclass(frozen=True, slots=True)
class _Clause:
    type: str
    subtype: str
    parameters: tuple[tuple[str, str], ...] = ()
    quality: float = 1.0

    def takes(self, media: str) -> bool:
        """True if a media type is one of those that the clause means."""
        kind, _, part = media.partition("/")
        return self.type in (kind, "*") and self.subtype in (part, "*")

    def before(self, other: _Clause) -> bool:
        """True if this clause comes first: by weight, or because it says more."""
        return (
            self.quality > other.quality
            or (self.type != "*" and other.type == "*")
            or (self.subtype != "*" and other.subtype == "*")
        )


def negotiate(
    behaviour: ServedBehaviour,
    accept: str,
    *,
    watchable: bool = False,
    convertible: bool = True,
    go_restful: bool = True,
    binary: bool = True,
    tables: bool = True,
    text: bool = False,
) -> MediaTypeOptions:
    """The first acceptable representation in order of preference. Raises kube-apiserver's 406 if there is none.

    ``go_restful`` is true for paths whose media types go-restful checks first; its refusal has another wording.
    ``convertible`` tells whether the answer can be turned into another kind, ``binary`` whether it has a binary form
    as it is, ``tables`` whether it can be shown as a Table. ``text`` is true for the log of a pod: go-restful lets
    plain text pass there, though no object is written so.
    """
    made = _negotiated if len(accept) <= _REMEMBERED else _negotiated.__wrapped__
    return made(behaviour, accept, watchable, convertible, go_restful, binary, tables, text)


_INSERTED: Final = 12
_REMEMBERED: Final = 1024
"""The longest Accept header whose result is cached."""


@lru_cache(maxsize=1024)
def _negotiated(
    behaviour: ServedBehaviour,
    accept: str,
    watchable: bool,
    convertible: bool,
    go_restful: bool,
    binary: bool,
    tables: bool,
    text: bool,
) -> MediaTypeOptions:
    if not accept.strip():
        return MediaTypeOptions()
    if go_restful and not is_answerable(accept, text=text):
        raise _route_refusal(behaviour, watchable, text)
    for clause in _clauses(accept):
        for media in MEDIA:
            wanted = _wanted(clause, media, convertible) if clause.takes(media) else None
            if wanted is None or (wanted.transform == "Table" and not tables):
                continue
            if binary or media != PROTOBUF or wanted.transform:
                return wanted
    raise not_acceptable(f"only the following media types are accepted: {', '.join(MEDIA)}")


def is_answerable(accept: str, *, text: bool) -> bool:
    """True if the path itself takes one of the media types: one that it has, by its full name, or any."""
    named = (clause.split(";")[0].strip() for clause in accept.split(","))
    return any(media in MEDIA or media == "*/*" or (text and media == TEXT) for media in named)


def check_route(behaviour: ServedBehaviour, accept: str, produced: Sequence[str]) -> None:
    """Raise the 406 of go-restful for a header that names none of the media types of a path, nor any type."""
    named = (clause.split(";")[0].strip() for clause in accept.split(","))
    if accept and not any(media == "*/*" or media in produced for media in named):
        raise route_refusal(behaviour, ", ".join(produced))


def check_sent(behaviour: ServedBehaviour, request: Request, consumed: Sequence[str] = MEDIA) -> None:
    """Raise the error of go-restful for a Content-Type that names none of the media types that a path consumes."""
    sent = request.header("content-type")
    if not sent or any(each.split(";")[0].strip() in consumed for each in sent.split(",")):
        return
    raise unconsumed(behaviour, request)


def unconsumed(behaviour: ServedBehaviour, request: Request) -> StatusError:
    """The error of go-restful for a Content-Type that a path does not consume: 415, before 1.34 406 without a body."""
    if request.body or behaviour.applies("unread-types-refused"):
        return unsupported_media_type("415: Unsupported Media Type", route=True)
    return route_refusal(behaviour, "")


def _route_refusal(behaviour: ServedBehaviour, watchable: bool, text: bool) -> StatusError:
    """The refusal of go-restful, which names what the path itself has."""
    listed = ", ".join((TEXT, *MEDIA) if text else MEDIA)
    streams = f", {STREAMS}" if watchable else ""
    return route_refusal(behaviour, f"{listed}{streams}")


def route_refusal(behaviour: ServedBehaviour, listed: str) -> StatusError:
    """The 406 of a path with the media types that it has, which older releases do not list."""
    told = f"\n\nAvailable representations: {listed}" if behaviour.applies("representations-listed") else ""
    return not_acceptable(f"406: Not Acceptable{told}", route=True)


def _clauses(accept: str) -> list[_Clause]:
    """The clauses of a header, the preferred ones first.

    The order of two clauses is not always one of weight, as kube-apiserver has it: ``*/*, application/yaml;q=0.1``
    prefers YAML. So they are sorted as there: twelve of them by insertion, which is not for more.
    """
    found = [clause for text in accept.split(",") if (clause := _clause(text))]
    if len(found) > _INSERTED:
        return sorted(found, key=cmp_to_key(_order))
    clauses: list[_Clause] = []
    for clause in found:
        position = len(clauses)
        while position and clause.before(clauses[position - 1]):
            position -= 1
        clauses.insert(position, clause)
    return clauses


def _order(one: _Clause, other: _Clause) -> int:
    return other.before(one) - one.before(other)


def _clause(text: str) -> _Clause | None:
    head, *rest = text.split(";")
    kind, _, part = (piece.strip() for piece in head.removesuffix("/").partition("/"))
    if kind == "*" and not part:
        part = "*"
    if not part or "/" in part:
        return None
    pairs = [piece.split("=") for piece in rest]
    named = [(pair[0].strip(), pair[1]) for pair in pairs if len(pair) == 2 and pair[1]]
    quality = [_number(value) for name, value in named if name == "q"]
    parameters = tuple((name, value.strip()) for name, value in named if name != "q")
    return _Clause(kind, part, parameters, quality[-1] if quality else 1.0)


def _number(text: str) -> float:
    try:
        return 0.0 if text != text.strip() else float(text)
    except ValueError:
        return 0.0


def _wanted(clause: _Clause, media: str, convertible: bool) -> MediaTypeOptions | None:
    """The options of a clause for one of its media types; None if they are not supported."""
    parameters = dict(clause.parameters)
    if parameters.get("stream") not in (None, "", "watch") or (parameters.get("stream") and media == YAML):
        return None
    if parameters.get("sv") and (parameters["sv"] != "v1" or not convertible):
        return None
    pretty = parameters.get("pretty") == "1"
    if not parameters.keys() & {"as", "g", "v"}:
        return MediaTypeOptions(media, pretty=pretty)
    transform = parameters.get("as", "")
    known = transform in _PARTIAL or (transform == "Table" and media != PROTOBUF)
    if not (convertible and known and parameters.get("g") == META_GROUP and parameters.get("v") in _VERSIONS):
        return None
    return MediaTypeOptions(media, transform, parameters["v"], pretty)


# The Warning headers of an answer, within a limit.
# Upstream: k8s.io/apiserver/pkg/endpoints/filters/warning.go and ``NewWarningHeader`` of
# k8s.io/apimachinery/pkg/util/net/http.go, release 1.30.

_TOTAL: Final = 4 * 1024
"""Letters that all warnings may have together before each is cut."""
_EACH: Final = 256
"""Letters that a warning keeps then."""
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def warning_headers(texts: Iterable[str]) -> Sequence[tuple[str, str]]:
    """A header for each different text. Where they are too long, each is cut, and the last ones are left out.

    A text with control characters has none: it could begin another header.

    Examples
    --------
    >>> warning_headers(['unknown field "a"', "", "two\\r\\nlines", 'unknown field "a"'])
    [('Warning', '299 - "unknown field \\\\"a\\\\""')]
    >>> sum(len(text) for _, text in warning_headers(f"{number} " + "x" * 300 for number in range(9999))) < 5000
    True
    """
    told: dict[str, None] = {}
    written, cut = 0, False
    for text in texts:
        if not text or text in told or _CONTROL.search(text):
            continue
        if cut and written >= _TOTAL:
            break
        told[text] = None
        written += min(len(text), _EACH) if cut else len(text)
        if not cut and written > _TOTAL:
            cut = True
            written = sum(min(len(each), _EACH) for each in told)
    return [("Warning", f'299 - "{_escaped(text[:_EACH] if cut else text)}"') for text in told]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
