"""Versions as semver.org defines them: parsed and compared.

k8s.io/apiserver/pkg/cel/library/semverlib.go, release 1.33.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import ClassVar, Final

from simkit.language.cel.declarations import Library, declared
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.types import parsed
from simkit.meta.fielderror import quoted
from simkit.meta.go_number import parse_uint

_DIGITS: Final = re.compile("[0-9]*")
_WORD: Final = re.compile("[0-9A-Za-z-]*")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Semver:
    """A version. Build metadata does not count in comparisons."""

    cel_kind: ClassVar[str] = "kubernetes.Semver"
    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()

    def __repr__(self) -> str:
        before = f"-{'.'.join(self.prerelease)}" if self.prerelease else ""
        return f"semver('{self.major}.{self.minor}.{self.patch}{before}')"

    def _order(self) -> tuple[object, ...]:
        # A number comes before any word, and all that comes before a release before the release itself.
        before = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease)
        return self.major, self.minor, self.patch, not before, before

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._order() == other._order()

    def __lt__(self, other: Semver) -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())


def semver(text: str, normalize: bool = False) -> Semver:
    """The version in a text; ``normalize`` allows shorter forms: ``v1.2`` for ``1.2.0``.

    Examples
    --------
    >>> semver("1.10.0") > semver("1.9.0-rc.1"), semver("v01.2", True)
    (True, semver('1.2.0'))
    """
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    found = Semver(
        _number(parts[0], "major", "Major"),
        _number(parts[1], "minor", "Minor"),
        _number(patch, "patch", "Patch"),
        tuple(map(_prerelease, prerelease.split("."))) if dash else (),
    )
    for part in build.split(".") if plus else ():
        if not part:
            raise EvaluationError("Build meta data is empty")
        if not _WORD.fullmatch(part):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(part)}")
    return found


def _number(text: str, name: str, title: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{title} number must not contain leading zeroes {quoted(text)}")
    return _parsed(text)


def _parsed(text: str) -> int:
    try:
        return parse_uint(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _prerelease(text: str) -> str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if text.isdigit() and text.isascii():
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        _parsed(text)
    elif not _WORD.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if set("+-") & set(parts[-1]):
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest and rest[0] in "0123456789" else f"0{rest}"


def is_semver(text: str, normalize: bool = False) -> bool:
    """True if the text is a version."""
    try:
        semver(text, normalize)
    except EvaluationError:
        return False
    return True


SEMVER: Final = Library(
    "semver",
    (1, 33),
    (
        declared("string_to_semver", "semver(string) Semver", semver),
        declared("string_bool_to_semver", "semver(string, bool) Semver", semver),
        declared("is_semver_string", "isSemver(string) bool", is_semver),
        declared("is_semver_string_bool", "isSemver(string, bool) bool", is_semver),
        declared("semver_is_greater_than", "Semver.isGreaterThan(Semver) bool", lambda one, other: one > other),
        declared("semver_is_less_than", "Semver.isLessThan(Semver) bool", lambda one, other: one < other),
        declared("semver_compare_to", "Semver.compareTo(Semver) int", lambda one, other: (one > other) - (one < other)),
        declared("semver_major", "Semver.major() int", lambda found: found.major),
        declared("semver_minor", "Semver.minor() int", lambda found: found.minor),
        declared("semver_patch", "Semver.patch() int", lambda found: found.patch),
    ),
    types=(parsed("Semver"),),
)
