"""Widgets and exercises for notebooks, imported on first use.

``explore(cluster)`` shows its objects, ``panel(cluster)`` who can do something, ``what_if_panel(cluster)`` the effect
of changes, ``path_graph(cluster)`` escalation paths as a graph with proofs, and ``inspect_request(cluster)`` the
handler chain; ``exercises`` checks a reader's answers by execution.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
