"""Pictures of results: the functions take tables or results, not snapshots.

Each draws into ``ax`` where axes are given, and else makes a figure of its own; both ways it returns the axes, whose
``.figure`` is the figure. A notebook shows what a cell ends with, without a magic.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
