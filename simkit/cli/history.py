"""``simkit history``: who could do what in the past, since when, and who changed it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simkit.analysis.rbac.unknown_names import warn_of_unnamed_subject
from simkit.analysis.rendering import counted
from simkit.cli import limits
from simkit.cli.notes import note
from simkit.cli.output import add_output, write_rows
from simkit.cli.source import (
    add_audit_log,
    add_namespace,
    add_source,
    dump_of,
    loaded,
    opened,
    paths_of,
    read_audit_log,
)
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    import pandas as pd

    from simkit.analysis.history.access_history import AccessHistory
    from simkit.meta.names import Key

DESCRIPTION = "Answers questions about access in the past, from dumps and an audit log."
EXAMPLES = """\
examples:
  simkit history changes cluster.yaml --audit-log audit.jsonl              # who changed access, and how
  simkit history since user:alice get secrets -n payments --dump cluster.yaml --audit-log audit.jsonl
  simkit history can user:alice get secrets --at 2026-03-03T12:00:00Z --dump cluster.yaml --audit-log audit.jsonl
  simkit history who-can get secrets --at 2026-03-03 february.yaml march.yaml    # several dumps
  simkit history changes cluster.yaml --audit-log logs/ --index march/     # reads the log once, for later questions

The log is assumed to hold every write between its first and its last event. With the level RequestResponse, objects
are known after each write; with Metadata, an object that was changed is unknown until a later dump. What is unknown is
reported as unknown. Each path is one dump, or a folder of dumps. A dump is dated by the latest time in its objects,
unless --dumped-at gives another. To compare two dumps, use simkit diff.

Exit code: 0 for an answer (can: yes), 1 if there is none (can: no or unknown), 2 for wrong use or unreadable input.
"""
ACTIONS = ("changes", "since", "can", "who-can")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("action", nargs="?", default="changes", metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("words", nargs="*", metavar="WORD", help="SUBJECT VERB RESOURCE, or VERB RESOURCE")
    parser.add_argument("--at", metavar="TIME", help="the time to ask about, such as 2026-03-03T12:00:00Z")
    told = "when the dump was made; repeat it for several dumps, in their order"
    parser.add_argument("--dumped-at", action="append", default=[], metavar="TIME", help=told)
    add_audit_log(parser, "an audit log")
    told = "keep an index of the log in this folder, for logs larger than memory (extra history)"
    parser.add_argument("--index", metavar="FOLDER", help=told)
    add_namespace(parser, "in this namespace")
    add_source(parser)
    add_output(parser)
    parser.set_defaults(words_before_path=("words",))


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    paths = _paths(args)
    if args.action == "changes" and args.words:
        raise SimkitError(f"changes takes no further words: {' '.join(args.words)}; actions: {', '.join(ACTIONS)}")
    past = _past(paths, args)
    limits.limit(past.caveats)
    if args.action == "changes":
        compared = f"; compare two dumps with simkit diff {' '.join(paths[:2])}" if len(paths) > 1 else ""
        nothing = "no write to a role or a binding is known" + "; add --audit-log PATH" * (not past.timeline.covered)
        return _written(past.changes(), args, f"{nothing}{compared}")
    asked = {"namespace": args.namespace} if args.namespace else {}
    if args.action == "since":
        subject, verb, resource = _words(args, 3, "SUBJECT VERB RESOURCE")
        found = past.since_when(subject, verb, resource, **asked)
        if (found["changed_by"] == "").any():
            note("where CHANGED BY is empty, FROM is the first known time; the access may have begun earlier")
        if set(found["verdict"]) == {"no"}:
            warn_of_unnamed_subject(subject, past.moment(past.latest).possible)
        return _written(found, args, "nothing is known")
    if not args.at:
        args.at = past.latest
        note(f"asked about {args.at:%Y-%m-%dT%H:%M:%SZ}, the latest known time; --at names another")
    elif set(args.at).isdisjoint("T "):
        note(f"asked about {args.at}T00:00:00Z, the beginning of that day; --at takes a time of day as well")
    if args.action == "who-can":
        verb, resource = _words(args, 2, "VERB RESOURCE")
        moment = past.moment(args.at)
        limits.limit(moment.caveats)
        if not moment.covered:
            return _written(past.who_can(verb, resource, at=args.at, **asked)[:0], args, "nothing is known")
        return _written(past.who_can(verb, resource, at=args.at, **asked), args, "nobody could")
    return _could(past, args, asked)


def _paths(args: argparse.Namespace) -> list[str]:
    """The paths of dumps, which may also stand behind the words; without an action, ``changes`` is asked for."""
    words = ["since" if word == "since-when" else word for word in (args.action, *args.words)]
    args.action = next((word for word in words if word in ACTIONS), "changes")
    found = [word for word in words if Path(word).exists() and (set(word) & set("./") or word == words[-1])]
    args.words = [word for word in words if word not in found and word != args.action]
    return [path for named in (*found, *paths_of(args)) for path in _series(Path(named), args) or [named]]


def _series(folder: Path, args: argparse.Namespace) -> list[str]:
    """The files of a folder of which each is a dump with all roles and bindings; empty for any other folder."""
    from simkit.analysis.rbac.objects import RBAC

    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    try:
        whole = len(files) > 1 and all(set(loaded([str(path)], args).captured) >= set(RBAC) for path in files)
    except SimkitError:
        return []
    return [str(path) for path in files] if whole else []


def _past(paths: Sequence[str], args: argparse.Namespace) -> AccessHistory:
    from simkit.analysis.history.reconstruction import history

    log = read_audit_log(args)
    dumps = [dump_of([path], args) for path in paths]
    if not paths and (args.demo or args.context is not None or args.kubeconfig or (log is None and args.index is None)):
        dumps = [opened(args)]
    if args.dumped_at and len(args.dumped_at) != len(dumps):
        raise SimkitError(
            f"--dumped-at names {counted(len(args.dumped_at), 'moment')} of {counted(len(dumps), 'dump')}"
        )
    named = dict(zip(args.dumped_at, dumps))
    if args.dumped_at and len(named) < len(dumps):
        raise SimkitError("--dumped-at names one moment twice; name the moment of each dump")
    return history(audit_log=log, dumps=named or dumps, index=args.index)


def _words(args: argparse.Namespace, count: int, usage: str) -> list[str]:
    if len(args.words) != count:
        raise SimkitError(f"write simkit history {args.action} {usage}")
    return list(args.words)


def _could(past: AccessHistory, args: argparse.Namespace, asked: Mapping[str, Any]) -> int:
    subject, verb, resource = _words(args, 3, "SUBJECT VERB RESOURCE")
    found = past.can(subject, verb, resource, at=args.at, **asked)
    limits.limit(found.moment.caveats)
    unknown = [_unknown(key, past) for key in found.moment.unknown]
    row = {
        "verdict": found.verdict,
        "question": found.decision.question,
        "reason": found.decision.reason,
        "unknown": unknown if found.verdict == "unknown" else [],
    }
    write_rows(tuple(row), [row], args.output, short=_in_words)
    return 0 if found.verdict == "yes" else 1


def _unknown(key: Key, past: AccessHistory) -> str:
    """An object, or all objects of a resource that no dump tells of, in words."""
    from simkit.analysis.history.past_access import ANY

    if key.name != ANY:
        return f"{key.resource} {key.namespace}/{key.name}".replace(" /", " ")
    dumps = past.timeline.dumps
    if any(key.resource in dump.captured for dump in dumps):
        return f"no dump tells the {key.resource} of this moment"
    return f"the dump has no {key.resource}" if len(dumps) == 1 else f"no dump has {key.resource}"


def _in_words(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "unknown": ", ".join(row["unknown"][:5])}


def _written(rows: pd.DataFrame, args: argparse.Namespace, empty: str) -> int:
    write_rows(tuple(rows.columns), rows.to_dict("records"), args.output, empty=empty)
    return 0 if len(rows) else 1
