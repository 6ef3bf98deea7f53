"""Templates of JSON paths: ``-o jsonpath``, ``-o custom-columns`` and ``--sort-by``.

Upstream: k8s.io/client-go/util/jsonpath and k8s.io/kubectl/pkg/cmd/get (customcolumn.go, sorter.go), release 1.32.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cmp_to_key
from typing import Any, Final, NamedTuple

from simkit.kinds.apiextensions.printer_columns import BadPath, find_values
from simkit.meta.go_fmt import format_value
from simkit.meta.quantity import QuantityError, parse
from simkit.notebook.kubectl.client import KubectlError

_PART: Final = re.compile(r"""\{(?P<inside>(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^{}"'])*)\}|(?P<text>[^{}]+)""")
_RELAXED: Final = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_INDEX: Final = re.compile(r"\[(-?\d+)\]")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


class _Piece(NamedTuple):
    """A text, a path, or a loop over a path with the pieces inside."""

    text: str = ""
    path: str | None = None
    inner: tuple[_Piece, ...] | None = None


def template_text(template: str, value: Any) -> str:
    """The text of a template such as ``{range .items[*]}{.metadata.name}{"\\n"}{end}``. Missing values are empty.

    Raises KubectlError for a template that cannot be read.

    Examples
    --------
    >>> items = {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}
    >>> template_text("{range .items[*]}<{.metadata.name}>{end} {.items[*].metadata.name}", items)
    '<a><b> a b'
    """
    pieces = _pieces(_parts(template), template)
    return "".join(_written(pieces, value, template))


def values_text(template: str, value: Any) -> str:
    """The values of a template with one path, as a list in JSON. Raises KubectlError for other templates.

    Examples
    --------
    >>> print(values_text("{.a}", {"a": 1}), end="")
    [
        1
    ]
    """
    pieces = _pieces(_parts(template), template)
    if len(pieces) != 1 or pieces[0].path is None or pieces[0].inner is not None:
        raise KubectlError("error: jsonpath-as-json needs a template of one path; next: '{.items[*].metadata.name}'")
    found = values_at(value, pieces[0].path, f"error parsing jsonpath {template}")
    return json.dumps(found, indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def _parts(template: str) -> Iterator[tuple[str, str]]:
    """The word and the rest of each action; the word of a text is empty."""
    position = 0
    while position < len(template):
        found = _PART.match(template, position)
        if found is None:
            what = "unterminated array" if "[" in template[position:].partition("]")[0] else "unclosed action"
            raise KubectlError(f"error: error parsing jsonpath {template}, {what}")
        inside = found["inside"]
        if inside is None:
            yield "", found["text"]
        elif inside.strip()[:1] in ('"', "'"):
            yield "", _unquoted(inside.strip())
        elif inside.strip() == "end":
            yield "end", ""
        elif inside.strip().startswith("range "):
            yield "range", inside.strip()[6:].strip()
        else:
            yield "path", inside.strip()
        position = found.end()


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])


def _pieces(parts: Iterator[tuple[str, str]], template: str, *, nested: bool = False) -> tuple[_Piece, ...]:
    found: list[_Piece] = []
    for word, text in parts:
        if word == "end":
            if nested:
                return tuple(found)
            raise KubectlError(f"error: error executing jsonpath {json.dumps(template)}: not in range, nothing to end")
        if word == "range":
            found.append(_Piece(path=text, inner=_pieces(parts, template, nested=True)))
        else:
            found.append(_Piece(path=text) if word else _Piece(text=text))
    return tuple(found)


def _written(pieces: Sequence[_Piece], value: Any, template: str) -> Iterator[str]:
    for each in pieces:
        if each.path is None:
            yield each.text
            continue
        _check_indexes(value, each.path, template)
        found = values_at(value, each.path, f"error parsing jsonpath {template}")
        if each.inner is None:
            yield " ".join(map(_printed, found))
        else:
            for one in found:
                yield from _written(each.inner, one, template)


def _check_indexes(value: Any, path: str, template: str) -> None:
    """Raise KubectlError for an index beyond the list that it stands behind."""
    told = f"error parsing jsonpath {template}"
    for found in _INDEX.finditer(path):
        for each in values_at(value, path[: found.start()], told):
            if isinstance(each, list) and not -len(each) <= int(found[1]) < len(each):
                raise KubectlError(
                    f"error: error executing jsonpath {json.dumps(template)}: Error executing template: array index "
                    f"out of bounds: index {found[1]}, length {len(each)}"
                )


def values_at(value: Any, path: str, told: str) -> list[Any]:
    """The values at a path; ``$`` and ``@`` are the value itself. Raises KubectlError with what was done."""
    steps = path.removeprefix("$").removeprefix("@")
    if steps and steps[0] not in ".[":
        steps = f".{steps}"
    try:
        return list(find_values(value, steps if steps != "." else ""))
    except BadPath:
        raise KubectlError(
            f"error: {told}, the path {path!r} cannot be read; next: {{.items[*].metadata.name}}"
        ) from None


def _printed(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return "null" if value is None else format_value(value)


def relaxed(path: str) -> str:
    """A path with or without braces and the dot in front, as a path from the object."""
    found = _RELAXED.fullmatch(path)
    if found is None:
        raise KubectlError(
            "error: unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or "
            "'{.name1.name2}'"
        )
    return f".{found[1] or found[2]}"


def column_rows(spec: str, objects: Sequence[Any], *, heads: bool) -> list[list[str]]:
    """Rows of the columns ``HEAD:path,HEAD:path``, with their heads."""
    if not spec:
        raise KubectlError("error: custom-columns format specified but no custom columns given")
    columns: list[tuple[str, str]] = []
    for part in spec.split(","):
        head, colon, path = part.partition(":")
        if not colon:
            raise KubectlError(f"error: unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>")
        columns.append((head, relaxed(path)))
    rows = [[head for head, _ in columns]] if heads else []
    for obj in objects:
        found = [values_at(obj, path, "error parsing custom-columns") for _, path in columns]
        rows.append([",".join(map(format_value, values)) if values else "<none>" for values in found])
    return rows


def in_order(objects: Sequence[Any], path: str, *, missing: Sequence[int] | None = None) -> Sequence[int]:
    """The places of objects in the order of their values at a path; those without come first.

    If no object has a value there, ``missing`` is given back, or a KubectlError is raised: kubectl prints no rows in a
    table then, and an error instead of documents.
    """
    whole = relaxed(path)
    found = [next(iter(values_at(each, whole, "error parsing sort-by")), None) for each in objects]
    if objects and all(value is None for value in found):
        if missing is not None:
            return missing
        raise KubectlError(f'error: couldn\'t find any field with path "{{{whole}}}" in the list of objects')
    by_value = cmp_to_key(_compared)
    return sorted(range(len(objects)), key=lambda place: by_value(found[place]))


def _compared(one: Any, other: Any) -> int:
    """Numbers as numbers, quantities by their size, other texts by their letters."""
    if one is None or other is None:
        return (one is not None) - (other is not None)
    if isinstance(one, str) and isinstance(other, str):
        with suppress(QuantityError):
            one, other = parse(one), parse(other)
    try:
        return int(one > other) - int(one < other)
    except TypeError:
        raise KubectlError(f"error: unsortable type: {type(one).__name__}") from None
