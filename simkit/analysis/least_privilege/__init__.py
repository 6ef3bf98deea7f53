"""Least privilege from audit logs: permissions in use, unused ones, and roles that allow only the former."""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
