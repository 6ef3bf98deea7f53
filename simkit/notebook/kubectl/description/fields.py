"""Objects of any kind, field by field, as kubectl describes what it does not know.

Upstream: genericDescriber in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.objects import Object
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import annotation_lines, label_lines, name_lines

_SKIPPED: Final = ("managedFields", "name", "namespace", "labels", "annotations")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|-+")
_ACRONYMS: Final = ("API", "URL", "UID", "OSB", "GUID")


def field_lines(client: Client, obj: Object) -> Iterator[str]:
    """All fields of an object in the order of their names, and its events."""
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    data = {name: value for name, value in obj["metadata"].items() if name not in _SKIPPED}
    yield from _fields({**obj, "metadata": data}, "")
    yield from event_lines(client, events_of(client, obj, kind=obj["kind"]))


def _fields(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, each in sorted(value.items()):
        head = f"{indent}{_words(name)}:"
        if isinstance(each, Mapping):
            yield head
            yield from _fields(each, f"{indent}  ")
        elif isinstance(each, list):
            yield head
            for item in each:
                yield from _fields(item, f"{indent}  ") if isinstance(item, Mapping) else [f"{indent}  {_scalar(item)}"]
        else:
            yield f"{head}\t{_scalar(each)}"


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "<nil>" if value is None else str(value)


def _words(name: str) -> str:
    """The name of a field in words; a name with other signs than letters stays as it is."""
    if not name.replace("-", "").isalpha():
        return name
    words = _WORD.findall(name)
    return " ".join(word.upper() if word.upper() in _ACRONYMS else word[:1].upper() + word[1:] for word in words)
