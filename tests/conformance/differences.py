"""Comparison of an answer with a recorded one, leaving out what differs from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_LONGEST: Final = 160


class Normalizer:
    """Replaces uids, times, revisions and generated names by markers.

    Equal revisions and uids of one conversation get equal markers, so that their relations are compared.

    Examples
    --------
    >>> normalize = Normalizer({"7f3a": "<unique>"})
    >>> normalize({"metadata": {"name": "t-7f3a", "resourceVersion": "17", "creationTimestamp": "2024-04-17T00:00:00Z"}})
    {'metadata': {'name': 't-<unique>', 'resourceVersion': '<rv1>', 'creationTimestamp': '<time>'}}
    """

    def __init__(self, replacements: Mapping[str, str]) -> None:
        self.replacements = dict(replacements)
        self._markers: dict[tuple[str, str], str] = {}

    def __call__(self, value: Any, key: str = "") -> Any:
        """A copy of a value with markers in it; ``key`` is the name of the field that holds the value."""
        if isinstance(value, Mapping):
            is_list = isinstance(value.get("items"), list) or "columnDefinitions" in value
            return {
                self._text(name): self(_list_metadata(item) if is_list and name == "metadata" else item, name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self(item, key) for item in value]
        if not isinstance(value, str):
            return value
        if key == "resourceVersion" and value and not value.startswith("<"):
            return self._marker("rv", value)
        if key == "uid" and _UID.fullmatch(value):
            return self._marker("uid", value)
        return self._text(value)

    def _marker(self, kind: str, value: str) -> str:
        number = sum(known == kind for known, _ in self._markers) + 1
        return self._markers.setdefault((kind, value), f"<{kind}{number}>")

    def _text(self, value: str) -> str:
        for plain, marker in self.replacements.items():
            if plain and not plain.isdecimal():
                value = value.replace(plain, marker)
        value = _TIME.sub("<time>", _UID.sub("<uid>", value))
        for plain, marker in self.replacements.items():
            if plain.isdecimal():  # such as a revision: the digits of a uid or a time may be the same
                value = value.replace(plain, marker)
        return value


def _list_metadata(metadata: Any) -> Any:
    """The metadata of a list: its revision and its continue token are those of the moment."""
    if not isinstance(metadata, Mapping):
        return metadata
    markers = {"resourceVersion": "<list-rv>", "continue": "<continue>"}
    return {name: markers[name] if name in markers and value else value for name, value in metadata.items()}


def differences(expected: Any, actual: Any, path: str = "", *, soft: bool = False) -> Iterator[str]:
    """The places where two normalized answers differ, one text each.

    Parameters
    ----------
    expected
        As recorded. A text that begins with ``~`` is a regular expression.
    soft
        Whether to leave out the wording of messages.

    Examples
    --------
    >>> list(differences({"status": 200, "body": "~^ok"}, {"status": 404, "body": "okay"}))
    ['.status: 404, expected 200']
    """
    if (soft and path.endswith(".message")) or (".columnDefinitions" in path and path.endswith(".description")):
        return
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in sorted({*expected, *actual}):
            if key not in actual:
                yield f"{path}.{key}: missing, expected {_short(expected[key])}"
            elif key not in expected:
                yield f"{path}.{key}: not expected, got {_short(actual[key])}"
            else:
                yield from differences(expected[key], actual[key], f"{path}.{key}", soft=soft)
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{path}: {len(actual)} entries, expected {len(expected)}"
        for index, (left, right) in enumerate(zip(expected, actual)):
            yield from differences(left, right, f"{path}[{index}]", soft=soft)
    elif isinstance(expected, str) and expected.startswith("~") and isinstance(actual, str):
        if not re.search(expected[1:], actual):
            yield f"{path}: {_short(actual)} does not match {expected[1:]}"
    elif type(expected) is not type(actual) or expected != actual:
        yield f"{path}: {_short(actual)}, expected {_short(expected)}"


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def lookup(document: Any, path: str) -> Any:
    """The value at a dotted path such as ``items.0.metadata.name``; None where there is none."""
    for part in path.split("."):
        if isinstance(document, list):
            inside = part.lstrip("-").isdigit() and -len(document) <= int(part) < len(document)
            document = document[int(part)] if inside else None
        else:
            document = document.get(part) if isinstance(document, Mapping) else None
    return document


def drop(document: Any, paths: Sequence[str]) -> None:
    """Remove the values at dotted paths from a document; ``*`` stands for every key or index."""
    for path in paths:
        _drop(document, path.split("."))


def _drop(node: Any, parts: Sequence[str]) -> None:
    first, rest = parts[0], parts[1:]
    if isinstance(node, list):
        for index, item in enumerate(node):
            if rest and first in ("*", str(index)):
                _drop(item, rest)
    elif isinstance(node, dict):
        for name in list(node) if first == "*" else [first] if first in node else []:
            if rest:
                _drop(node[name], rest)
            else:
                del node[name]
