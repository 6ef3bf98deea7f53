"""Plans: which changes to make first, what each closes and costs, and what is left after it.

``candidates`` are the changes that can be made, ``open_paths`` counts who still gets where, ``greedy`` chooses, and
``plan`` answers the question; ``verification`` makes the changes one by one on a fork.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
