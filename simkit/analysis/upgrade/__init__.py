"""Use of API versions that a release removes, and the lives of versions."""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
