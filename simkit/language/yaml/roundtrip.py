"""One YAML document changed to another value, with its comments, order and quotes kept."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode

_WIDTH: Final = 1_000_000
_DASHES: Final = re.compile(
    r"^( *)([^\s#-][^\n#]*):[ \t]*+(?:#[^\n]*+)?+\n(?:[ \t]*+(?:#[^\n]*+)?+\n)*+( *)- ", re.MULTILINE
)
_NESTED: Final = re.compile(r"^( *)[^\s#-][^\n#]*:[ \t]*+(?:#[^\n]*+)?+\n(?=(\1 +)[^\s#-])", re.MULTILINE)


def rewritten(text: str, wanted: Any) -> str:
    """The text of one document so that it says something else; what stays is not touched.

    Raises
    ------
    BrokenText
        For a text that cannot be changed without changing its meaning: with anchors, say.

    Examples
    --------
    >>> print(rewritten("kind: A  # a comment\\nold: 'x'\\n", {"kind": "B", "old": "x", "new": [1]}), end="")
    kind: B  # a comment
    old: 'x'
    new:
    - 1
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    yaml.allow_duplicate_keys = True
    _keep_indent(yaml, text)
    try:
        tree = yaml.load(text)
        before = _dumped(yaml, tree)
        _change(tree, wanted)
        after = _dumped(yaml, tree)
    except YAMLError as wrong:
        raise BrokenText(1, f"it cannot be changed in place: {str(wrong).splitlines()[0]}") from None
    merged = _merged(text, before, after)
    for candidate in (merged, after):
        if _says(candidate, wanted):
            return candidate
    raise BrokenText(1, "it cannot be changed in place without changing its meaning")


def _says(text: str, wanted: Any) -> bool:
    try:
        return bool(decode(text) == wanted)
    except BrokenText:
        return False  # lines of two styles of indentation do not go together


def _keep_indent(yaml: Any, text: str) -> None:
    """Indent mappings and lists as the text does: lists at their key, or two places in."""
    inner = [len(match.group(3)) > len(match.group(1)) for match in _DASHES.finditer(text)]
    steps = [len(match.group(2)) - len(match.group(1)) for match in _NESTED.finditer(text)]
    step = max(set(steps), key=steps.count) if steps else 2
    if inner and sum(inner) * 2 > len(inner):
        yaml.indent(mapping=step, sequence=4, offset=2)
    else:
        yaml.indent(mapping=step, sequence=2, offset=0)


def _dumped(yaml: Any, tree: Any) -> str:
    stream = io.StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


def _merged(text: str, before: str, after: str) -> str:
    """The text with the lines changed that the dumps differ in, where the dump has the lines of the text."""
    old, dumped, new = text.splitlines(True), before.splitlines(True), after.splitlines(True)
    if [line.strip() for line in old] != [line.strip() for line in dumped]:
        return after
    result: list[str] = []
    for tag, first, last, start, end in SequenceMatcher(None, dumped, new, autojunk=False).get_opcodes():
        result += old[first:last] if tag == "equal" else new[start:end]
    return "".join(result)


def _change(node: Any, wanted: Any) -> None:
    """Makes a node of the document say what is wanted, in place."""
    if isinstance(node, dict) and isinstance(wanted, Mapping):
        _change_mapping(node, wanted)
    elif isinstance(node, list) and isinstance(wanted, list):
        _drop(node, wanted)
        for index, item in enumerate(wanted):
            if index >= len(node):
                node.append(_plain(item))
            elif not _same(node[index], item):
                _change_item(node, index, item)
        del node[len(wanted) :]


def _drop(node: Any, wanted: list[Any]) -> None:
    """Take out of a list what is not wanted, if the rest stays as it is: its comments stay with it."""
    left = iter(range(len(wanted)))
    place = next(left, None)
    gone = []
    for index, item in enumerate(node):
        if place is not None and _same(item, wanted[place]):
            place = next(left, None)
        else:
            gone.append(index)
    if place is None:
        for index in reversed(gone):
            del node[index]


def _change_mapping(node: Any, wanted: Mapping[str, Any]) -> None:
    gone = [key for key in node if key not in wanted]
    place = list(node).index(gone[0]) if gone else _end(node)
    for key in gone:
        del node[key]
    for key, value in wanted.items():
        if key not in node:
            node.insert(min(place, len(node)), key, _plain(value))
            place += 1
        elif not _same(node[key], value):
            _change_item(node, key, value)


def _end(node: Any) -> int:
    """The position for new keys: after the others, but before a last one with a large value or comments."""
    if not node:
        return 0
    last = list(node)[-1]
    return len(node) - 1 if isinstance(node[last], dict | list) or last in node.ca.items else len(node)


def _change_item(node: Any, key: Any, value: Any) -> None:
    held = node[key]
    if (isinstance(held, dict) and isinstance(value, Mapping)) or (isinstance(held, list) and isinstance(value, list)):
        _change(held, value)
        return
    _shift_comment(node, key, len(str(value)) - len(str(held)))
    if isinstance(held, str) and isinstance(value, str) and type(held) is not str:
        node[key] = type(held)(value)
    else:
        node[key] = _plain(value)


def _shift_comment(node: Any, key: Any, by: int) -> None:
    """Keeps a comment behind a value as far from it as it was."""
    tokens = node.ca.items.get(key)
    for token in tokens or ():
        if token is not None and not isinstance(token, list) and not token.value.startswith("\n"):
            token.start_mark.column = max(0, token.start_mark.column + by)


def _same(held: Any, value: Any) -> bool:
    """True if a node says a value already. Whole numbers and truth values are not taken for each other."""
    if isinstance(held, Mapping) or isinstance(value, Mapping):
        if not (isinstance(held, Mapping) and isinstance(value, Mapping)) or list(held) != list(value):
            return False
        return all(_same(held[key], value[key]) for key in value)
    if isinstance(held, list) or isinstance(value, list):
        if not (isinstance(held, list) and isinstance(value, list)) or len(held) != len(value):
            return False
        return all(map(_same, held, value))
    if isinstance(value, str):
        return str(held) == value and not isinstance(held, bool | int | float | None)
    return bool(held == value) and isinstance(held, bool) == isinstance(value, bool)


def _plain(value: Any) -> Any:
    """A new value: text that could be read as something else gets quotes."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    if isinstance(value, Mapping):
        return CommentedMap((key, _plain(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return CommentedSeq(_plain(inner) for inner in value)
    if isinstance(value, str):
        if "\n" in value:
            return LiteralScalarString(value)
        return DoubleQuotedScalarString(value) if _is_ambiguous(value) else value
    return value


def _is_ambiguous(value: str) -> bool:
    try:
        return value.lower() in ("y", "n") or decode(value) != value
    except BrokenText:
        return True
