"""Root causes: findings and escalation paths by the binding, role, label or missing object that they come from.

``nature`` tells mistakes from what products, the server and nobody need; ``advice`` and ``remedy`` what to do;
``group`` answers the question.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
