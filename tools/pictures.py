"""The pictures of the gallery, drawn by the code that it shows: ``python -m tools.pictures``.

A picture in ``docs/gallery.md`` is what the code before it ends with. Each is drawn on light and on dark paper.
"""

from __future__ import annotations

import ast
import io
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from PIL import Image

from simkit.analysis import plots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
WIDTH: Final = 1600
"""Pixels: pages show pictures 800 wide, and screens often have two pixels for one."""
_PICTURE: Final = re.compile(
    r"```python\n(.*?)```\n(?:(?!```).)*?(?:src=\"pictures/([\w-]+)\.png\"|(?=\n##))", re.DOTALL
)


def pictures() -> Iterator[tuple[str, Callable[[], Axes]]]:
    """Each picture of the gallery with its name, and how to draw it."""
    names: dict[str, Any] = {}
    for code, name in _PICTURE.findall((DOCS / "gallery.md").read_text(encoding="utf-8")):
        tree = ast.parse(code)
        last = tree.body.pop() if name else None
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            yield name, partial(eval, compile(ast.Expression(last.value), name, "eval"), names)


def draw() -> list[Path]:
    """Draw all pictures, and give back where they are."""
    made = []
    for name, picture in pictures():
        for paper, suffix in (("light", ""), ("dark", "-dark")):
            with plots.theme(paper):  # type: ignore[arg-type]
                figure: Any = picture().get_figure(root=True)
                drawn = io.BytesIO()
                figure.savefig(drawn, dpi=WIDTH / figure.get_figwidth())
            target = DOCS / "pictures" / f"{name}{suffix}.png"
            Image.open(drawn).convert("RGB").quantize(64).save(target, optimize=True)
            made.append(target)
    return made


if __name__ == "__main__":
    print("\n".join(map(str, draw())))
