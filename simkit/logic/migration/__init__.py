"""Objects rewritten for a later release: another version, the same meaning, and a word where a person has to decide.

``migrate_object`` rewrites one object, and ``documents`` rewrites texts with many objects and leaves everything else in
them as it stands.
"""

from simkit.logic.migration.documents import Rewritten, rewrite
from simkit.logic.migration.migrate_object import MigratedObject, migrate_object

__all__ = ["MigratedObject", "Rewritten", "migrate_object", "rewrite"]
