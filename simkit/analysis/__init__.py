"""Analyses of a snapshot, as functions that return tables and small objects. They do not change the cluster.

Every function is also a method of ``simkit.Cluster``, with the same arguments. These rules apply to all of them:

- The first argument is a snapshot: ``cluster.snapshot()``. If a function executes something to prove its answer,
  ``sandbox`` is the cluster to fork for that; the method passes the cluster itself.
- Subjects are texts: ``user:alice`` (or ``alice``), ``group:devs``, ``sa:namespace/name``. Tables have them in the
  column ``subject``, on which they can be joined; ``subject_parts`` splits them.
- ``namespace=None`` means all namespaces; a single request is then one across all namespaces. ``"*"`` means the whole
  cluster, as in the column ``scope``. An empty text is an error.
- ``members`` maps the names of groups to subjects, since Kubernetes does not store them.
- Severities have one ordered type, ``Severity``, and are an ordered category in tables: ``rows["severity"] >= "high"``.
- Answers that are more than a table have ``to_frame()``, ``to_dict()``, ``summary()`` and often ``plot(ax=None)``.
  ``prove()`` and ``verify()`` execute a claim on a fork.
"""

from simkit.meta.lazy_names import import_names_lazily

import_names_lazily(__name__, parts=("plots",))
