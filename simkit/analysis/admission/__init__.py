"""Questions about admission: effects and coverage of policies and webhooks, expressions and their costs."""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
