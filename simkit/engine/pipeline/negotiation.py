"""Which representation the client wants, out of its Accept header."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from simkit.meta.domain import META_GROUP, PROTOBUF_MEDIA_TYPE
from simkit.meta.errors import StatusError, not_acceptable

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = PROTOBUF_MEDIA_TYPE
MEDIA: Final = (JSON, YAML, PROTOBUF)
_TRANSFORMS: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_STREAMS: Final = f"{JSON};stream=watch, {PROTOBUF};stream=watch"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A media type, and the kind that the answer is to be turned into (empty: as it is)."""

    media: str = JSON
    transform: str = ""
    version: str = ""
    stream: bool = False


@dataclass(frozen=True, slots=True)
class _Clause:
    media: str
    parameters: tuple[tuple[str, str], ...]
    quality: float


@lru_cache(maxsize=1024)
def negotiate(accept: str, *, watchable: bool = False, convertible: bool = True, routed: bool = True) -> Wanted:
    """The first acceptable representation in order of preference. Raises the 406 of the real server where none is.

    ``routed`` tells whether media types are checked before the path is answered, which words the refusal otherwise.
    """
    clauses = _clauses(accept)
    if not clauses:
        return Wanted()
    known = [clause for clause in clauses if _media(clause.media)]
    for clause in known:
        wanted = _wanted(clause, convertible)
        if wanted is not None:
            return wanted
    raise _refusal(route=not known and routed, watchable=watchable)


def _refusal(*, route: bool, watchable: bool) -> StatusError:
    listed = ", ".join(MEDIA)
    if route:
        streams = f", {_STREAMS}" if watchable else ""
        text = f"406: Not Acceptable\n\nAvailable representations: {listed}{streams}"
        return not_acceptable(text, route=True)
    return not_acceptable(f"only the following media types are accepted: {listed}")


def _clauses(accept: str) -> list[_Clause]:
    clauses = []
    for text in accept.split(","):
        head, *rest = (part.strip() for part in text.split(";"))
        if not head:
            continue
        pairs = [tuple(part.split("=", 1)) for part in rest if "=" in part]
        quality = next((_number(value) for name, value in pairs if name == "q"), 1.0)
        parameters = tuple((name, value) for name, value in pairs if name != "q")
        clauses.append(_Clause(head.lower(), parameters, quality))
    return sorted(clauses, key=lambda clause: -clause.quality)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _media(accepted: str) -> str:
    if accepted in MEDIA:
        return accepted
    return JSON if accepted == "*/*" else ""


def _wanted(clause: _Clause, convertible: bool) -> Wanted | None:
    parameters = dict(clause.parameters)
    stream = parameters.get("stream") == "watch"
    transform = parameters.get("as", "")
    if not transform:
        return Wanted(_media(clause.media), stream=stream)
    known = transform in _TRANSFORMS and parameters.get("g") == META_GROUP and parameters.get("v") in ("v1", "v1beta1")
    if not convertible or not known:
        return None
    return Wanted(_media(clause.media), transform, parameters["v"], stream)
