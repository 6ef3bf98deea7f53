"""The contract against circles of imports finds them wherever in a file the import stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import grimp

from tools.import_circles import circle_of

if TYPE_CHECKING:
    import pytest


def test_an_import_inside_a_function_closes_a_circle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The circle is given in the order of its imports; a file that only leads to it is no part of it."""
    package = tmp_path / "circular_rooms"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "user.py").write_text("from circular_rooms import answer\n")
    (package / "answer.py").write_text("def prove():\n    from circular_rooms import proof\n")
    (package / "proof.py").write_text("from circular_rooms import steps\n")
    (package / "steps.py").write_text("from circular_rooms import answer\n")
    monkeypatch.syspath_prepend(tmp_path)
    circle = circle_of(grimp.build_graph("circular_rooms", cache_dir=None))
    names = [name.removeprefix("circular_rooms.") for name in circle]
    start = names.index("answer")
    assert names[0] == names[-1]
    assert [*names[start:-1], *names[:start]] == ["answer", "proof", "steps"]


def test_modules_that_import_downwards_only_have_no_circle() -> None:
    """Two ways to the same module are no circle."""
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")):
        graph.add_import(importer=importer, imported=imported)
    assert circle_of(graph) == []
