"""Errors about names and arguments that are not there, with the right ones."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import FunctionType, MappingProxyType
from typing import Any, Final, TypeVar

from simkit.meta.errors import SimkitError

Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])
_MANY: Final = 16
"""The arguments of a function that an error lists."""
_EXPLAINED: Final = "explains_wrong_calls"
"""The attribute of functions that do."""
_NO_HINTS: Final[Mapping[str, str]] = MappingProxyType({})


_NUMBERS: Final = ("int", "float", "bool")


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


def with_explained_calls(function: Function, hints: Mapping[str, str] = _NO_HINTS, name: str = "") -> Function:
    """The function, whose errors for wrong arguments tell the right ones.

    Parameters
    ----------
    function
        A function with a fixed signature.
    hints
        Arguments that people guess, and what to write instead: a sentence, or ``groups|subject='group:VALUE'``,
        of which the first that there is counts. For a ``str`` given as ``ax``: ``ax=str``. For the call: ``NAME()``.
    name
        The name in errors; empty: that of the function.
    """

    @functools.wraps(function)
    def explained(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except (AttributeError, TypeError) as error:
            signature = inspect.signature(function)
            called = name or function.__name__
            own = _own_arguments(function, signature)
            told = _fault(called, signature, own, args, named, hints)
            told = told or _wrong_type(called, signature, args, named, error, hints)
            if not told:
                raise
        raise WrongArguments(told)

    setattr(explained, _EXPLAINED, True)
    return explained  # type: ignore[return-value]


def explains_wrong_calls(cls: Class, hints: Mapping[str, str] = _NO_HINTS) -> Class:
    """The class, whose constructor and public methods tell the right arguments where they are called with wrong ones.

    Methods of its bases are among them; properties, class methods and static methods are not.
    """
    for name in dir(cls):
        if not name.startswith("_") or (name == "__init__" and name in vars(cls)):
            method = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
            if isinstance(method, FunctionType) and not hasattr(method, _EXPLAINED):
                setattr(cls, name, with_explained_calls(method, hints, cls.__name__ if name == "__init__" else ""))
    return cls


def _fault(
    name: str,
    signature: inspect.Signature,
    own: list[str] | None,
    args: tuple[object, ...],
    named: Mapping[str, object],
    hints: Mapping[str, str],
) -> str:
    """The fault of a call; empty if it has none, and the error comes from elsewhere."""
    for wrong in named:
        if own is not None and wrong not in own:
            return f"{name}() has no argument {wrong!r}{_hint(wrong, named[wrong], own, hints)}{_listed(own)}"
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        return f"{name}(): {error}; {_form(name, signature, hints)}"
    return ""


def _own_arguments(function: Callable[..., Any], signature: inspect.Signature) -> list[str] | None:
    """The names of the arguments, with those of a ``TypedDict`` that is unpacked; None where any name will do."""
    own: list[str] = []
    for one in signature.parameters.values():
        if one.kind is one.VAR_KEYWORD:
            unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation))
            if unpacked is None:
                return None
            own += inspect.unwrap(function).__globals__[unpacked[1]].__annotations__
        elif one.name != "self":
            own.append(one.name)
    return own


def _hint(wrong: str, value: object, own: list[str], hints: Mapping[str, str]) -> str:
    """What to write instead: the first of the hints ``a|b=...`` whose argument there is, or a sentence."""
    for near in [*hints.get(wrong, "").split("|"), *get_close_matches(wrong, own, n=1)]:
        if near in own:
            return f"; did you mean {near}?"
        if " " in near or near.partition("=")[0] in own:
            return f"; {'' if ' ' in near else 'write '}{near.replace('VALUE', str(value))}"
    return ""


def _wrong_type(
    name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    named: Mapping[str, object],
    error: Exception,
    hints: Mapping[str, str],
) -> str:
    """The fault of an argument that was taken for something of another type; empty if there is none."""
    taken = re.match(r"'(int|float|bool|str|list|dict)' object (is not|has no attribute)", str(error))
    kind = taken[1] if taken else ""
    if kind not in _NUMBERS and not hasattr(error, "obj"):
        return ""  # texts and lists are everywhere: it may be another one than the argument
    for given, value in signature.bind(*args, **named).arguments.items():
        if type(value).__name__ == kind and value is getattr(error, "obj", value):
            told = hints.get(f"{given}={kind}") or _form(name, signature, hints)
            return f"{name}(): {given} cannot be the {kind} {value!r}; {told}"
    return ""


def _listed(own: list[str]) -> str:
    more = ", ..." if len(own) > _MANY else ""
    return f" (it has {', '.join(own[:_MANY])}{more})" if own else " and no others: filter what it returns"


def _form(name: str, signature: inspect.Signature, hints: Mapping[str, str]) -> str:
    """The form of a right call: that of the hint ``NAME()``, or the signature."""
    own = [one.replace(annotation=one.empty) for one in signature.parameters.values() if one.name != "self"]
    return f"write {hints.get(f'{name}()') or f'{name}{inspect.Signature(own)}'}"


def by_word(hints: Mapping[str, str]) -> Mapping[str, str]:
    """Hints by each of the words for which they stand.

    Examples
    --------
    >>> by_word({"stale unused": "audit(checks='stale')"})["unused"]
    "audit(checks='stale')"
    """
    return {word: hint for words, hint in hints.items() for word in words.split()}
