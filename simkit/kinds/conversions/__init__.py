"""Conversions between all versions of every kind in all releases.

Kinds whose versions differ in more than their names are rows of ``FAMILIES``; all others are relabelled. ``convert``
gives the object, ``explain`` also what it lost on the way and what a change of ``apiVersion`` alone would have made of
it.
"""

from simkit.kinds.conversions.convert import Conversion, Difference, convert, convertible, defaulted, explain, versions
from simkit.kinds.conversions.family import ConversionError, Family, Spoke

__all__ = [
    "Conversion",
    "ConversionError",
    "Difference",
    "Family",
    "Spoke",
    "convert",
    "convertible",
    "defaulted",
    "explain",
    "versions",
]
