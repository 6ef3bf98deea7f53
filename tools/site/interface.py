"""The reference of the library, made from its docstrings: one page per public module."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import Final

import simkit
from simkit.cluster.cluster import Cluster

MODULES: Final = {
    "simkit.analysis": "Analyses",
    "simkit.analysis.plots": "Plots",
    "simkit.notebook": "Notebooks and exercises",
    "simkit.testing": "Tests",
    "simkit.testing.clients": "Clients for tests",
    "simkit.fleet": "Many clusters",
}
"""Modules with a page of their own, by title."""
FOREIGN: Final = (
    ":inherited-members: Sequence, tuple, str, BaseModel, TestCase, Enum, HasTraits, Widget, DOMWidget, Box, VBox"
)
"""The option that shows inherited members, but for those of other libraries' classes."""
CLUSTER: Final = "reference/library/cluster.md"


def interface_pages() -> dict[str, str]:
    """The pages by path: the cluster, the other names of simkit, and one per module."""
    pages = {CLUSTER: _cluster(), "reference/library/simkit.md": _top()}
    for name, title in MODULES.items():
        pages[f"reference/library/{name.removeprefix('simkit.')}.md"] = _module(import_module(name), title)
    return {**pages, "reference/library/index.md": _index(list(pages))}


def _index(pages: list[str]) -> str:
    names = "\n".join(page.rpartition("/")[2].removesuffix(".md") for page in pages)
    text = "Classes, methods and functions that users call, made from their docstrings.\n"
    return f"# Library\n\n{text}\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"


def _cluster() -> str:
    """The class Cluster with all of its methods by name, those of its parts included."""
    names = sorted(name for name in dir(Cluster) if not name.startswith("_"))
    members = [_directive("autoclass", "simkit.Cluster", [])]
    for name in names:
        value = inspect.getattr_static(Cluster, name)
        kind = "autoproperty" if isinstance(value, property) else "automethod"
        if kind == "automethod" or value.__doc__:
            members.append(_directive(kind, f"simkit.Cluster.{name}", []))
    return _page("Cluster", "`simkit.Cluster`, and what every fork and loaded cluster can do.", members)


def _top() -> str:
    """The names of simkit itself but the cluster."""
    names = [name for name in simkit.__all__ if name != "Cluster" and not inspect.ismodule(getattr(simkit, name))]
    return _page("simkit", "The names of `simkit` besides `simkit.Cluster`.", [_of(simkit, name) for name in names])


def _module(module: ModuleType, title: str) -> str:
    text = (module.__doc__ or "").strip().partition("\n")[0]
    names = sorted(getattr(module, "__all__", ()) or _own(module), key=str.lower)
    return _page(f"{title}: {module.__name__}", text, [_of(module, name) for name in names])


def _own(module: ModuleType) -> list[str]:
    """The public functions and classes that a module without ``__all__`` defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__ and callable(value)
    ]


def _of(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    if inspect.isclass(value):
        options = [":members:", ":undoc-members:"]
        if not any(base.__module__.startswith("pandas") for base in value.__mro__):
            options.append(FOREIGN)
        return _directive("autoclass", f"{module.__name__}.{name}", options)
    if callable(value):
        return _directive("autofunction", f"{module.__name__}.{name}", [])
    return _directive("autodata", f"{module.__name__}.{name}", [])


def _directive(kind: str, name: str, options: list[str]) -> str:
    lines = "".join(f"\n   {option}" for option in options)
    return f"```{{eval-rst}}\n.. {kind}:: {name}{lines}\n```"


def _page(title: str, text: str, parts: list[str]) -> str:
    return "\n\n".join([f"# {title}", text, *parts]) + "\n"
