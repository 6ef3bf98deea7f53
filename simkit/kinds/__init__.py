"""The behaviour of each built-in kind, one place per kind; the rest follows from the compiled tables.

Adding a kind that the tables of ``datasets/api`` know takes one file and its test:

1. A ``Strategy``, a record of functions for defaulting, preparation, validation and printing: the constant ``STRATEGY``
   of ``kinds/<first part of the group>/<kind in lower case>.py``, or a row of the table ``STRATEGIES`` of a module for
   all kinds of a small group (``kinds/rbac.py``), or for simple kinds of a large one (``core/simple_kinds.py``).
   ``strategy.strategy_of`` finds it there. A kind without one behaves by its schema alone.
2. Cases in ``tests/kinds/builtin_faults.yaml``, or a test module beside those of its group.

What a field must be is a row of a table (``kinds/rules``): the field, its checks, the condition, the releases. What has
to be computed is a function beside it.

A kind whose versions differ in their fields also gets a family in ``kinds/conversions/moved_fields.py``, or a module of
its own with a table ``FAMILIES`` that ``conversions/convert.py`` reads. A kind that no bundled release serves is
added to the tables by ``tools/compile_catalogue.py``.

Several kinds share ``kinds/parts``: rooms by subject, with validation, defaulting and printing in modules of their own.
"""
