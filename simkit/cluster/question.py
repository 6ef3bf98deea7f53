"""Free functions of ``simkit.analysis`` as methods of a cluster."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any

from simkit.cluster.guessed_names import ARGUMENTS
from simkit.meta.wrong_names import with_explained_calls

if TYPE_CHECKING:
    from simkit.cluster.analysed_cluster import AnalysedCluster


class Question:
    """A method that asks a free function, with its signature and docstring. The function is imported when it is needed.

    Parameters
    ----------
    module
        The module of the function below ``simkit.analysis``. The function has the name of the method.
    snapshot
        The parameter that is the snapshot of the cluster; empty for none.
    cluster
        The parameter that is the cluster itself; empty for none.
    by_name
        Positional parameters of the function that the method takes by name only, since their order would be guessed.
    """

    def __init__(
        self, module: str, *, snapshot: str = "snapshot", cluster: str = "", by_name: Collection[str] = ()
    ) -> None:
        self.module, self.snapshot, self.cluster, self.by_name = module, snapshot, cluster, by_name
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: AnalysedCluster | None, owner: type) -> Callable[..., Any]:
        """The function of the class, or the method of a cluster."""
        return self.method if instance is None else MethodType(self.method, instance)

    @property
    def given(self) -> frozenset[str]:
        """The parameters of the function that the cluster gives."""
        return frozenset({self.snapshot, self.cluster} - {""})

    @functools.cached_property
    def method(self) -> Callable[..., Any]:
        """The function whose first parameter is the cluster."""
        asked: Callable[..., Any] = getattr(import_module(f"simkit.analysis.{self.module}"), self.name)

        @functools.wraps(asked)
        def method(cluster: AnalysedCluster, /, *arguments: Any, **named: Any) -> Any:
            given: dict[str, Any] = {self.snapshot: cluster.snapshot()} if self.snapshot else {}
            given |= {self.cluster: cluster} if self.cluster else {}
            if takes_several:
                return asked(*given.values(), *arguments, **named)
            if len(arguments) > len(own):
                signature.bind(cluster, *arguments, **named)  # tells what is wrong with them
            return asked(**given, **dict(zip(own, arguments, strict=False)), **named)

        signature = _signature(asked, self.given, self.by_name)
        takes_several = any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())
        own = [
            each.name
            for each in signature.parameters.values()
            if each.kind is each.POSITIONAL_OR_KEYWORD and each.name != "self"
        ]
        method.__signature__ = signature  # type: ignore[attr-defined]
        method.__doc__ = without_parameters(inspect.getdoc(asked) or "", self.given)
        method.__qualname__ = f"Cluster.{self.name}"
        del method.__wrapped__
        return with_explained_calls(method, ARGUMENTS)


def _signature(asked: Callable[..., Any], given: Collection[str], by_name: Collection[str]) -> inspect.Signature:
    """The signature of the method: without what the cluster gives, and with ``self``."""
    whole = inspect.signature(asked)
    left = [
        each.replace(kind=each.KEYWORD_ONLY) if each.name in by_name else each
        for each in whole.parameters.values()
        if each.name not in given
    ]
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return whole.replace(parameters=[first, *sorted(left, key=lambda each: each.kind)])


def without_parameters(text: str, given: Collection[str]) -> str:
    """A docstring without the parameters that are given.

    Examples
    --------
    >>> without_parameters("Says.\\n\\nParameters\\n----------\\na, b\\n    Both.\\nc\\n    One.", {"a", "c"})
    'Says.\\n\\nParameters\\n----------\\nb\\n    Both.'
    """
    head, heading, rest = text.partition("Parameters\n----------\n")
    if not heading:
        return text
    parameters, gap, tail = rest.partition("\n\n")
    kept = []
    for entry in re.split(r"\n(?=\S)", parameters):
        names, _, told = entry.partition("\n")
        left = [name for name in names.split(", ") if name not in given]
        kept += [f"{', '.join(left)}\n{told}"] if left else []
    return f"{head}{heading}{chr(10).join(kept)}{gap}{tail}" if kept else f"{head}{tail}".rstrip()
