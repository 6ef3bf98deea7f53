"""The reader of YAML: it gives JSON types only, and plain words are text unless every reader agrees otherwise.

Bodies of requests are read as sigs.k8s.io/yaml does (YAML 1.1 to JSON), whose limit on aliases is that of go-yaml v2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import yaml

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML was built without libyaml: the same, slower
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

from simkit.language.yaml.complaints import BrokenText, Repeat, in_words
from simkit.language.yaml.scalars import LIST, MAKERS, MAP, MERGE, STR, NoValue, go_tag, plain_tag
from simkit.meta.deadline import check_deadline
from simkit.meta.go_json import ROOM_OF_BODIES

MOST_VALUES: Final = 5_000_000
"""The most values of one document after its aliases are expanded."""
MOST_DEPTH: Final = 1000
DEEPEST: Final = 254 - ROOM_OF_BODIES
"""The deepest nesting of a document, whatever the interpreter's own limit is."""
_MANY: Final = 256
"""Parts of a collection from which on they are let go one by one."""
_SUSPICIOUS: Final = 10_000
"""The number of openings from which the depth is checked first: the reader in C does not guard its stack."""


class _Reader(_Loader):
    """Composes nodes; a plain word is not text only if every reader of YAML 1.1 agrees.

    So dates stay text, ``1:30`` is no number to the base 60, ``y`` is a letter, and ``=`` does not end the document.
    """

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is not yaml.ScalarNode:
            return LIST if kind is yaml.SequenceNode else MAP
        return plain_tag(value) if implicit[0] else STR


class _WireReader(_Reader):
    """The reader of request bodies: single letters are booleans too, and numbers are those of go-yaml."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        check_deadline()
        if kind is not yaml.ScalarNode or not implicit[0]:
            return super().resolve(kind, value, implicit)
        return go_tag(value)


def decode_body(text: str, repeats: list[Repeat]) -> Any:
    """The value of the first document of a request's body; None for an empty one.

    Keys of mappings come sorted, as a server has them that makes JSON out of YAML first; of repeated keys the last
    counts, and all are put into ``repeats``. Raises BrokenText.
    """
    return _decoded(_WireReader, _first_node, text, 1, repeats, wire=True)


def decode(text: str, *, first_line: int = 1, repeats: list[Repeat] | None = None) -> Any:
    """The value of one YAML document; None for an empty one.

    Parameters
    ----------
    first_line
        The line of its file on which the text begins, for errors.
    repeats
        Where duplicate keys of mappings are put, of which the last counts; without it they are refused.

    Raises
    ------
    BrokenText
        With the line and the reader's complaint.

    Examples
    --------
    >>> decode("created: 2024-04-17T10:00:00Z\\nport: 080\\nmode: 0644\\nwhen: 22:30\\nop: =")
    {'created': '2024-04-17T10:00:00Z', 'port': '080', 'mode': 420, 'when': '22:30', 'op': '='}
    """
    return _decoded(_Reader, _Reader.get_single_node, text, first_line, repeats)


def _first_node(reader: Any) -> Any:
    return reader.get_node() if reader.check_node() else None


def _decoded(
    loader: Callable[[str], Any],
    compose: Callable[[Any], Any],
    text: str,
    first_line: int,
    repeats: list[Repeat] | None,
    *,
    wire: bool = False,
) -> Any:
    reader = None
    try:
        _check_depth(text)
        reader = loader(text)  # the one in Python, where libyaml is absent, refuses characters at once
        node = compose(reader)
        return None if node is None else _Construction("&" in text, first_line, repeats, wire=wire).value(node)
    except RecursionError:
        raise BrokenText(first_line, "nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        raise BrokenText(line, in_words(str(error.problem)) + _begun(error, first_line), _told(error)) from None
    except yaml.YAMLError as error:
        line = first_line + text.count("\n", 0, max(0, getattr(error, "position", 0)))
        reason = getattr(error, "reason", "") or "unreadable characters"
        raise BrokenText(line, f"not YAML: {reason}", reason) from None
    finally:
        if reader is not None:
            reader.dispose()


class _Unplaced(yaml.MarkedYAMLError):
    """An error whose place Go does not tell."""


def _begun(error: yaml.MarkedYAMLError, first_line: int) -> str:
    """The line in which what is broken begins, where it is another than that of the problem."""
    begun, broken = error.context_mark, error.problem_mark
    return f" (it begins in line {first_line + begun.line})" if begun and broken and begun.line != broken.line else ""


def _told(error: yaml.MarkedYAMLError) -> str:
    """The error in the words of Go's yaml package, which does not name the first line."""
    if isinstance(error, _Unplaced):
        return str(error.problem)
    after = 1 if isinstance(error, yaml.scanner.ScannerError) else 0
    lines = (mark.line for mark in (error.context_mark, error.problem_mark) if mark is not None)
    line = next((line + after for line in lines if line), 0)
    return f"line {line}: {error.problem}" if line else str(error.problem)


def _check_depth(text: str) -> None:
    """Raise BrokenText for a document so deep that composing it would overrun the stack."""
    if sum(map(text.count, ("[", "{", "- -", "? "))) < _SUSPICIOUS:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                raise RecursionError
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Construction:
    """Turns nodes into values, faster than the library's own constructor because it knows the few types."""

    def __init__(self, aliases: bool, first_line: int, repeats: list[Repeat] | None, *, wire: bool) -> None:
        self._aliases, self._first_line, self._repeats, self._wire = aliases, first_line, repeats, wire
        self._open: set[int] = set()
        self._values: dict[int, int] = {}
        """The number of values that each complete node stands for."""
        self._scalars: dict[int, dict[str, Any]] = {}
        """Mappings of scalars that were merged, by the node that they are made of."""
        self._counted = False
        """True if what is being made was counted already."""
        self._depth = 0
        self._made = self._copied = 0

    def value(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            tag = node.tag
            return node.value if tag == STR else _scalar(node)
        self._depth += 1
        check_deadline()
        if self._depth > DEEPEST:
            raise RecursionError
        made = self._guarded(node) if self._aliases else self._collection(node)
        self._depth -= 1
        return made

    def _collection(self, node: yaml.Node) -> Any:
        value = self.value
        if isinstance(node, yaml.SequenceNode):
            return [value(item) for item in self._taken(node)]
        self._note_repeats(node)
        made: dict[str, Any] = {}
        merged: list[Any] = []
        for key, item in self._taken(node):
            if key.tag == STR:
                made[key.value] = value(item)
            elif key.tag == MERGE:
                merged.append(self._merged(item))
            else:
                made[_key(key)] = value(item)
        if self._wire:
            made = {key: made[key] for key in sorted(made)}
        return _with_merged(made, merged, node) if merged else made

    def _taken(self, node: yaml.Node) -> Iterable[Any]:
        """The parts of a node. Many of them are let go one by one, where no alias can lead to them again."""
        return node.value if self._aliases or len(node.value) < _MANY else _letting_go(node.value)

    def _note_repeats(self, node: yaml.Node) -> None:
        if self._counted:
            return
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
                continue  # refused where it is taken for a key, or allowed
            if key.value in seen:
                if self._repeats is None:
                    raise _marked(key, f"the key {key.value!r} is there twice in one mapping")
                self._repeats.append(Repeat(key.start_mark.line + self._first_line, key.value))
            seen.add(key.value)

    def _guarded(self, node: yaml.Node) -> Any:
        """The value of a node, unless aliases make a document contain itself or stand for billions of values."""
        if self._counted:
            return self._collection(node)
        if id(node) in self._open:
            raise _marked(node, "an alias stands inside what it refers to")
        values = self._values.get(id(node))
        if values is not None:
            return self._again(node, values)
        before = self._made
        self._open.add(id(node))
        self._count(node, len(node.value))
        made = self._collection(node)
        self._open.discard(id(node))
        self._values[id(node)] = self._made - before
        return made

    def _again(self, node: yaml.Node, values: int) -> Any:
        """The value of a node that an alias refers to. What it stands for is counted before it is made once more."""
        self._count(node, values, copied=values)
        self._counted = True
        made = self._collection(node)
        self._counted = False
        return made

    def _merged(self, node: yaml.Node) -> Any:
        """The value of a node that is merged into a mapping; one of scalars is made once, since it is only read."""
        known = self._scalars.get(id(node))
        if known is None:
            made = self.value(node)
            if self._aliases and isinstance(made, dict) and not any(map(_nests, made.values())):
                self._scalars[id(node)] = made
            return made
        if not self._counted:
            self._count(node, len(known), copied=len(known))
        return known

    def _count(self, node: yaml.Node, values: int, *, copied: int = 0) -> None:
        """Count values: the share of aliases in a body is limited as in kube-apiserver, the values of a file by a
        number."""
        self._made += values
        self._copied += copied
        if self._wire:
            few = self._copied <= 100 or self._made <= 1000
            if not few and self._copied > self._made * _copies_allowed(self._made):
                raise yaml.MarkedYAMLError(problem="document contains excessive aliasing")
        elif self._made > MOST_VALUES:
            raise _marked(_innermost(node), f"aliases stand for more than {MOST_VALUES:,} values")


def _innermost(node: yaml.Node) -> yaml.Node:
    """The collection to which the first parts of a node lead: what is written out so often."""
    first = node.value[0] if node.value and not isinstance(node, yaml.ScalarNode) else None
    first = first[1] if isinstance(first, tuple) else first
    return node if first is None or isinstance(first, yaml.ScalarNode) else _innermost(first)


def _nests(value: Any) -> bool:
    return isinstance(value, dict | list)


def _letting_go(parts: list[Any]) -> Iterator[Any]:
    """The parts; to let go of a million nodes at once would hold the interpreter for half a second."""
    parts.reverse()
    while parts:
        yield parts.pop()


def _copies_allowed(values: int) -> float:
    """The share of values that may come from aliases."""
    much, most = 400_000, 4_000_000
    return 0.99 if values <= much else 0.1 if values >= most else 0.99 - 0.89 * (values - much) / (most - much)


def _marked(node: yaml.Node, what: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=node.start_mark)


def _with_merged(made: dict[str, Any], merged: list[Any], node: yaml.Node) -> dict[str, Any]:
    """The mapping with ``<<`` merged: its own entries override those of other mappings."""
    below: dict[str, Any] = {}
    for item in merged:
        for each in item if isinstance(item, list) else [item]:
            if not isinstance(each, dict):
                raise _marked(node, "only mappings can be merged with <<")
            below = {**each, **below}
    return {**below, **made}


def _key(node: yaml.Node) -> str:
    """The text of a mapping key, as JSON has it."""
    if not isinstance(node, yaml.ScalarNode):
        raise _marked(node, "a mapping key must be text")
    value = _scalar(node)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _scalar(node: yaml.ScalarNode) -> Any:
    make = MAKERS.get(node.tag)
    try:
        return node.value if make is None else make(node.value)
    except NoValue as error:
        raise _Unplaced(problem=str(error), problem_mark=node.start_mark) from None
    except ValueError:
        found, wanted = (tag.rpartition(":")[2] for tag in (go_tag(node.value), node.tag))
        what = f"cannot decode !!{found} `{node.value}` as a !!{wanted}"
        raise _Unplaced(problem=what, problem_mark=node.start_mark) from None
