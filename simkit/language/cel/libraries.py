"""All libraries, with the compatibility version of each.

k8s.io/apiserver/pkg/cel/environment/base.go, release 1.30, and later releases for what they add.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from simkit.language.cel.declarations import Function, Library, functions_of
from simkit.language.cel.lib_collections import LISTS, LISTS_3, OPTIONALS, OPTIONALS_2, SETS
from simkit.language.cel.lib_comparable import QUANTITIES, SEMVER
from simkit.language.cel.lib_network import NETWORK
from simkit.language.cel.lib_policies import AUTHORIZER, AUTHORIZER_SELECTORS, PATCHES
from simkit.language.cel.lib_standard import MIXED_NUMBERS, STANDARD
from simkit.language.cel.lib_strings import FORMATS, REGEX, SEARCHES, STRINGS, STRINGS_2
from simkit.language.cel.lib_url import NAMED_FORMATS, URLS, validation
from simkit.language.cel.types import Type
from simkit.meta.behaviour import ServedBehaviour

LIBRARIES: Final[tuple[Library, ...]] = (
    STANDARD,
    MIXED_NUMBERS,
    URLS,
    REGEX,
    LISTS,
    STRINGS,
    STRINGS_2,
    AUTHORIZER,
    AUTHORIZER_SELECTORS,
    OPTIONALS,
    QUANTITIES,
    SETS,
    NETWORK,
    NAMED_FORMATS,
    SEMVER,
    LISTS_3,
)


@cache
def functions(
    behaviour: ServedBehaviour, version: tuple[int, int], *, patches: bool = False, others: tuple[Library, ...] = ()
) -> Mapping[str, Function]:
    """The functions that a server has in a compatibility version, by name; ``patches`` adds those of mutating policies,
    ``others`` those of libraries that are not kube-apiserver's."""
    more = [
        SEARCHES[behaviour.applies("offsets-past-the-end")],
        FORMATS[behaviour.applies("narrow-exponents")],
        validation(behaviour),
        *others,
        *([PATCHES] if patches else []),
        *([OPTIONALS_2] if behaviour.applies("first-and-last-of-lists") else []),
    ]
    return functions_of((*LIBRARIES, *more), version)


@cache
def type_names(version: tuple[int, int]) -> Mapping[str, Type]:
    """The types of libraries that expressions may name, by name."""
    return {found.name: found for library in LIBRARIES if library.serves(version) for found in library.types}
