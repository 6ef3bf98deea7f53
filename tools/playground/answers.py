"""Questions of the page and their answers, as JSON: what the page's worker imports, and all that it calls.

It runs where there are no threads, sockets and processes, and without numpy, pandas, orjson, cryptography and RE2.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from functools import cached_property
from io import BytesIO, StringIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from simkit.cli.source import add_source, opened
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.objects import name_of, namespace_of
from simkit.meta.visible_text import visible_lines
from simkit.meta.warning import warnings_heard_by

if TYPE_CHECKING:
    from simkit.analysis.escalation import Escalations
    from simkit.cluster.cluster import Cluster, Trial
    from simkit.snapshot.dump import Dump

Value = Mapping[str, object]
Tell = Callable[[str], object]
READING: Final = ("--no-cache", "--unpack", "bytes=1Gi")
"""A tab has 4 GB at most, of which an unpacked dump takes several times its size."""
CAUSES: Final = 25
"""The causes that the page lists; the report has all."""
PLANNED: Final = 5
"""The changes that the page proposes."""
CHANGES: Final = 500
"""The changes of access that the page lists; all are counted."""


class Session:
    """A dump, and the answers about it. ``tell`` hears a few words before each part that takes time."""

    def __init__(self, paths: Sequence[str], tell: Tell) -> None:
        self._tell = tell
        parser = argparse.ArgumentParser()
        add_source(parser, paths=True)
        told = StringIO()
        try:
            with redirect_stderr(told):
                args = parser.parse_args([*READING, *(["--demo"] if not paths else ["--", *paths])])
                self.dump: Dump = opened(args)
        except SimkitError as error:
            raise SimkitError(f"{error}\n{told.getvalue()}".strip().replace("simkit: ", "")) from None
        self._name = ", ".join(PurePath(path).name for path in paths) or "demo cluster"
        lines = told.getvalue().replace("simkit: ", "").splitlines()
        self.limits = [one.text for one in self.dump.authorization.caveats]
        self._read = [line for line in lines if line not in self.limits]

    @cached_property
    def _snapshot(self) -> Any:
        return self.dump.snapshot()

    @cached_property
    def _cluster(self) -> Cluster:
        from simkit.cluster.cluster import Cluster
        from simkit.cluster.options import Options

        return Cluster.of(self.dump, Options(release=self.dump.release))

    @cached_property
    def _paths(self) -> Escalations:
        from simkit.analysis.escalation import escalations

        self._tell("Looking for escalation paths")
        return escalations(self._snapshot)

    def about(self) -> Value:
        """What was read: the name, the release, how many objects, namespaces, bindings, and what could not be read."""
        from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS

        keys = sorted(self.dump.keyed, key=str)
        bindings = [key for key in keys if key.resource in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS)]
        return {
            "name": self._name,
            "release": self.dump.release,
            "objects": len(self.dump.objects),
            "namespaces": sorted(key.name for key in keys if str(key.resource) == "namespaces"),
            "bindings": [[key.resource.resource, key.namespace, key.name] for key in bindings],
            "told": self._read,
        }

    def who_can(self, verb: str, resource: str, namespace: str = "", defaults: bool = False) -> Value:
        """The subjects that have a permission, and what grants it: the rows of ``simkit who-can``."""
        from simkit.analysis.access.resolve import connection_asked
        from simkit.analysis.access.who_can import holders_of
        from simkit.cli.who_can import SHOWN, is_default, short

        connection = connection_asked(self._snapshot, verb, resource, "")
        where = namespace or None
        found = holders_of(self._snapshot, connection or verb, resource, subresource="", namespace=where)
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows()]
        listed = rows if defaults else [row for row in rows if not is_default(row, self._snapshot)]
        return {
            "question": found.question,
            "columns": SHOWN,
            "rows": [list(map(short(row).get, SHOWN)) for row in listed],
            "skipped": len(rows) - len(listed),
        }

    def can(self, subject: str, verb: str, resource: str, namespace: str = "") -> Value:
        """Whether one subject may, with what grants it or with the nearest miss."""
        from simkit.analysis.access.can import can

        answer = can(self._snapshot, subject, verb, resource, namespace=namespace or None)
        return {"allowed": bool(answer), "lines": str(answer).splitlines()}

    def causes(self) -> Value:
        """What findings and paths come from, what to change, and the changes that close most paths."""
        from simkit.analysis.causes import group_causes
        from simkit.analysis.findings import audit
        from simkit.analysis.plan import remediation_plan

        paths = self._paths
        self._tell("Checking roles, bindings and workloads")
        found = audit(self._snapshot)
        self._tell("Looking for what they come from")
        grouped = group_causes(self._snapshot, found.findings, tuple(paths))
        self._tell("Looking for the changes that close most paths")
        plan = remediation_plan(self._snapshot, best=PLANNED)
        shown = list(grouped)[:CAUSES]
        return {
            "causes": [
                {
                    **row,
                    "commands": one.remedy.commands(),
                    "way_back": one.remedy.way_back(),
                }
                for one, row in zip(shown, grouped[:CAUSES].to_records(), strict=True)
            ],
            "counts": {"causes": len(grouped), "paths": len(paths), "findings": found.counts()},
            "plan": {"lines": list(plan.lines()), "commands": plan.commands(), "way_back": plan.way_back()},
        }

    def graph(self) -> Value:
        """The escalation paths as a graph to walk in."""
        from simkit.analysis.escalation.find.graph_document import graph_document
        from simkit.analysis.escalation.find.queries import WELL_KNOWN

        return {"graph": graph_document(self._snapshot, self._paths, WELL_KNOWN)}

    def prove(self, start: int, goal: str) -> Value:
        """The record of a path that was executed on a fork; ``start`` is the place of its subject in the graph."""
        subjects = list(dict.fromkeys(path.start for path in self._paths))
        path = next(path for path in self._paths if path.start == subjects[start] and path.goal.name == goal)
        return {"proof": path.prove(self._cluster).record()}

    def report(self) -> Value:
        """The audit report, a page of its own."""
        from simkit.analysis.findings import audit
        from simkit.analysis.findings.suppress import SuppressedAudit
        from simkit.cluster.report.document import Request, document
        from simkit.cluster.report.page import page

        sifted = SuppressedAudit(audit(self._snapshot), (), (), ())
        content = document(self.dump, sifted, Request(self._name), tell=lambda words: self._tell(words.capitalize()))
        self._tell("Writing the page")
        return {"html": page(content)}

    def change(self, delete: Sequence[Sequence[str]] = (), manifest: str = "") -> Value:
        """Who gains and loses what, and which paths open and close, when bindings go and manifests are applied."""
        from simkit.analysis.access.compare import COLUMNS, access_changes, changed_permissions
        from simkit.analysis.escalation.find.path_comparison import changed_paths

        self._tell("Making the change on a fork")
        with self._cluster.what_if() as trial:
            made = list(_changed(trial, delete, manifest))
            trial.settle()
        after = trial.snapshot()
        self._tell("Comparing access and escalation paths")
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in changed_permissions(self._snapshot, after)]
        changes = access_changes(rows)
        return {
            "made": made,
            "count": len(changes),
            "access": [one._asdict() for one in changes[:CHANGES]],
            "paths": [
                {"change": change, "subject": path.subject, "goal": path.goal.name, "path": path.words}
                for change, path, _ in changed_paths(self._snapshot, after)
            ],
        }


def _changed(trial: Trial, delete: Sequence[Sequence[str]], manifest: str) -> Iterator[str]:
    """Make the changes, and say each in words."""
    for resource, namespace, name in delete:
        trial.delete(resource, name, namespace or None)
        yield f"deleted {resource} {_named(namespace, name)}"
    if manifest.strip():
        for obj in trial.apply(BytesIO(manifest.encode())):
            yield f"applied {obj['kind']} {_named(namespace_of(obj), name_of(obj))}"


def _named(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


class Playground:
    """The open dump, and ``ask``, which the worker calls with a question as JSON."""

    def __init__(self, tell: Tell = str) -> None:
        self._tell = tell
        self._session: Session | None = None

    def ask(self, message: str) -> str:
        """The answer to a question as JSON: ``answer`` and ``notes``, or ``error``.

        Parameters
        ----------
        message
            An object with ``ask``, the name of a method of Session, and its arguments; ``open`` has ``paths``, of which
            none means the demo cluster.
        """
        asked: dict[str, Any] = json.loads(message)
        notes: list[str] = []
        try:
            with warnings_heard_by(lambda warning: notes.append(visible_lines(str(warning)))):
                answer = _shown(self._answer(asked.pop("ask"), asked))
        except StatusError as refused:
            return json.dumps({"error": visible_lines(f"the change was refused: {refused}")})
        except SimkitError as error:
            return json.dumps({"error": visible_lines(str(error))})
        except ImportError as lack:
            return json.dumps({"error": f"this needs the module {lack.name}, which the page does not have"})
        limits = [] if self._session is None else self._session.limits
        return json.dumps({"answer": answer, "notes": [*dict.fromkeys((*limits, *notes))]})

    def _answer(self, name: str, words: Mapping[str, Any]) -> Value:
        if name == "open":
            self._session = None  # an answer about the dump before would look like one about this
            self._session = Session(words["paths"], self._tell)
            return self._session.about()
        if self._session is None:
            raise SimkitError("open a dump first")
        answer: Value = getattr(self._session, name)(**words)
        return answer


def _shown(value: Any) -> Any:
    """The value for JSON: of a dump's texts what cannot be seen is written out, as on terminals and in reports."""
    if isinstance(value, str):
        return visible_lines(value)
    if isinstance(value, Mapping):
        return {_shown(name): one if name == "html" else _shown(one) for name, one in value.items()}
    if isinstance(value, int | float | None):
        return value
    return list(map(_shown, value)) if isinstance(value, Iterable) else visible_lines(str(value))
