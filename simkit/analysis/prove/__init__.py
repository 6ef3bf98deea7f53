"""Proofs about all requests and all objects, not about samples of them.

Each answer is PASS, FAIL with counterexamples, or UNKNOWN with the reason. Access by roles and bindings is decided
completely, by classes of requests (``classes``) and the weakest identity that a grant reaches (``identities``).
Counterexamples are executed on forks before they are shown.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
