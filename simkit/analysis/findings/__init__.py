"""Findings: a table of checks, and the audit that makes them.

To add a permission that is reported wherever it is granted, add an entry to
``datasets/escalation/risky_permissions.yaml`` that names the primitives it leads to, and a case to
``tests/analysis/test_findings.py``. To add another check, write its words below ``checks`` of the same file, and a
function of a ``Survey`` with an entry of the table in ``wide``, ``workloads``, ``loose`` or ``drift``.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__)
