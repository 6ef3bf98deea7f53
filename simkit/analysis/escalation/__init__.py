"""Privilege escalation: paths to a goal, their proof by execution, and the cheapest changes that close them.

Four packages, each of which imports only those before it: ``table`` (primitives and risky permissions), ``find`` (the
escalation graph and its paths), ``prove`` (paths executed on a fork) and ``cut`` (changes that close paths).

To add a primitive:

1. Add an entry to ``datasets/escalation/primitives.yaml``, with a source; README.md beside it explains the fields.
2. Where an existing word of ``condition`` or ``outcome`` does not fit, add one to ``find/primitive_conditions.py`` or
   ``find/outcomes.py``.
3. Add a scene with somebody who has it to ``tests/analysis/escalation/probes.py``, and correct the number of rows in
   ``tests/analysis/escalation/test_primitives.py``.

A proof needs no code where the requests of the entry use the words that ``prove/variables.py`` knows.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
