"""Group memberships from various sources: the table that every ``members=`` takes."""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
