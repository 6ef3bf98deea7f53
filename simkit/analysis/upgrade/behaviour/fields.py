"""Paths of fields, looked for together: many paths cost one walk over what they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class PathTree(Generic[T]):
    """Paths with something at their ends."""

    ends: list[T] = field(default_factory=list)
    children: dict[str, PathTree[T]] = field(default_factory=dict)

    def add(self, path: tuple[str, ...], end: T) -> None:
        """Put something at the end of a path. ``*`` is any item or key, ``name*`` any key that begins so."""
        node = self
        for step in path:
            node = node.children.setdefault(step, PathTree())
        node.ends.append(end)

    def matches(self, value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[T, tuple[str, ...], Any]]:
        """The ends of the paths that a value has: the end, the path with its indexes, the value there.

        Examples
        --------
        >>> tree = PathTree()
        >>> tree.add(("spec", "ports", "*", "name"), "named")
        >>> [(end, path_text(path), name) for end, path, name in tree.matches({"spec": {"ports": [{"name": "web"}]}})]
        [('named', 'spec.ports[0].name', 'web')]
        """
        for end in self.ends:
            yield end, path, value
        for step, node in self.children.items():
            for name, inner in _children(value, step):
                yield from node.matches(inner, (*path, name))


def _children(value: Any, step: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if not step.endswith("*"):
            if value.get(step) is not None:
                yield step, value[step]
            return
        start = step[:-1]
        yield from ((name, inner) for name, inner in value.items() if isinstance(name, str) and name.startswith(start))
    elif step == "*" and isinstance(value, list):
        yield from ((f"[{index}]", inner) for index, inner in enumerate(value))


def path_text(path: tuple[str, ...]) -> str:
    """A path as people write it; keys with dots in brackets.

    Examples
    --------
    >>> path_text(("metadata", "annotations", "example.com/a", "[0]"))
    'metadata.annotations[example.com/a][0]'
    """
    text = ""
    for step in path:
        if step.startswith("["):
            text += step
        elif "." in step or "/" in step:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
