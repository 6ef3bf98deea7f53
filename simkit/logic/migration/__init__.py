"""Objects rewritten for a later release: another version, the same meaning, and a word where a person has to decide.

``mend`` rewrites one object, ``structural_schema`` makes schemas of custom resources structural, ``documents`` rewrites
texts with many objects and leaves everything else in them as it stands.
"""

from simkit.logic.migration.documents import Rewritten, rewrite
from simkit.logic.migration.mend import Mended, mend

__all__ = ["Mended", "Rewritten", "mend", "rewrite"]
