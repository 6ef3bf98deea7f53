"""Errors about names and arguments that are not there, with the right ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from simkit.meta.errors import SimkitError

Function = TypeVar("Function", bound=Callable[..., Any])


class WrongArguments(SimkitError, TypeError):
    """A call with arguments that the function does not have, or without those that it needs."""


def absent(owner: str, name: str, known: Iterable[str], hints: Mapping[str, str]) -> AttributeError:
    """The error for an attribute that is not there, with the one that may be meant.

    Parameters
    ----------
    owner
        The object or module without the attribute, as the error names it.
    name
        The attribute.
    known
        The names that there are.
    hints
        Words that people guess, and what to write instead.

    Examples
    --------
    >>> raise absent("Cluster", "wo_can", ["who_can", "can"], {})
    Traceback (most recent call last):
    AttributeError: Cluster has no attribute 'wo_can'; did you mean who_can?
    """
    public = sorted(each for each in known if not each.startswith("_"))
    near = " or ".join(get_close_matches(name, public, n=2, cutoff=0.7))
    hint = f"; write {hints[name]}" if name in hints else f"; did you mean {near}?" if near else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}")


def with_explained_calls(function: Function, hints: Mapping[str, str]) -> Function:
    """The function, whose errors for wrong arguments tell the right ones.

    Parameters
    ----------
    function
        A function with a fixed signature.
    hints
        Arguments that people guess, and what to write instead.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def explained(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except TypeError:
            told = _fault(function.__name__, signature, args, named, hints)
            if not told:
                raise
        raise WrongArguments(told)

    return explained  # type: ignore[return-value]


def _fault(
    name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    named: Mapping[str, object],
    hints: Mapping[str, str],
) -> str:
    """The fault of a call; empty if it has none, and the error comes from elsewhere."""
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        own = [one for one in signature.parameters if one != "self"]
        for wrong in named:
            if wrong not in signature.parameters:
                near = hints.get(wrong) or "".join(get_close_matches(wrong, own, n=1))
                hint = f"; did you mean {near}?" if near in own else f"; {near}" if near else ""
                return f"{name}() has no argument {wrong!r}{hint}{_listed(own)}"
        return f"{name}(): {error}; {_form(name, signature)}"
    return ""


def _listed(own: list[str]) -> str:
    return f" (it has {', '.join(own)})" if own else " and no others: filter what it returns"


def _form(name: str, signature: inspect.Signature) -> str:
    """The form of a right call: what is needed, and what goes by name only."""
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    plain = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
    needed = [f"{one.name}=..." for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    others = [f"{one.name}=" for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is not one.empty]
    told = f"write {name}({', '.join([*plain, *needed])})"
    return told + (f", and by name {', '.join(others)}" if others else "")
