"""Packages that import a public name when it is first used, so that one question does not import all others.

The file ``__init__.pyi`` beside the package's ``__init__.py`` says which module each name comes from, for type checkers
and here alike.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package with the names of its stub. A submodule of the same name does not hide a name."""

    _homes: Mapping[str, tuple[str, str]]
    _hint: Callable[[str], str]

    def __getattr__(self, name: str) -> Any:
        found = self._homes.get(name)
        if found is None and name in self.__dict__["_parts"]:
            return import_module(f"{self.__name__}.{name}")
        if found is None:
            from simkit.meta.wrong_names import absent

            hint = self.__dict__["_hint"](name)
            raise absent(self.__name__, name, self._homes, {name: hint} if hint else {})
        home, original = found
        if home == self.__name__:  # a package inside of this one
            value: Any = import_module(f"{home}.{original}")
        else:
            value = getattr(import_module(home), original)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system sets each imported submodule as an attribute of its package.
        if not (isinstance(value, ModuleType) and self._homes.get(name, (self.__name__,))[0] != self.__name__):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self._homes, *(name for name in super().__dir__() if name.startswith("__"))})


def no_hint(name: str) -> str:
    """No hint for any name."""
    return ""


def import_names_lazily(package: str, hint: Callable[[str], str] = no_hint, parts: Collection[str] = ()) -> None:
    """Give a package the names that its stub exports; each is imported when it is first used.

    Parameters
    ----------
    package
        The name of the package, whose ``__init__`` calls this.
    hint
        What to write instead of a name that does not exist, for the error; empty for names that nobody guesses.
    parts
        Packages inside of it that are imported when they are first used, too.
    """
    module = sys.modules[package]
    module.__dict__["_homes"] = homes = _homes(Path(str(module.__file__)).with_suffix(".pyi"))
    module.__dict__["_hint"], module.__dict__["_parts"] = hint, parts
    module.__dict__["__all__"] = sorted(homes)
    module.__class__ = LazyPackage


def _homes(stub: Path) -> dict[str, tuple[str, str]]:
    """The module and the name there of each name that a stub exports."""
    statements = ast.parse(stub.read_text(encoding="utf-8")).body
    imported = {
        alias.asname or alias.name: (str(statement.module), alias.name)
        for statement in statements
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    exported = next(one.value for one in statements if isinstance(one, ast.Assign))
    return {name: imported[name] for name in ast.literal_eval(exported)}
