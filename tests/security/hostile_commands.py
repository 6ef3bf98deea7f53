"""Command lines that show the hostile cluster in every way in which a command can show one.

Words in capitals are files of ``hostile_files``. ``CHOOSING`` and ``SHOWING_NOTHING`` name what needs no line, and why;
a test holds commands and options to this.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from simkit import cli
from tests.security.hostile_cluster import HOSTILE

SUBJECTS: Final = (
    "user:x;touch pwned",
    "user:\x1b]0;owned\x07\x1b[2J\x1b[1;1H",
    "sa:hostile/--all",
    "group:=cmd|' /C calc'!A0",
)
_ALL: Final = ("--complete", "*")
_LOG: Final = ("--audit-log", "LOG")
_ACCEPTED: Final = ("--suppress", "ACCEPTED", *_LOG, "--requests-since", "2000-01-01")
_ASKED: Final = {"get": ("get", "secrets"), "list": ("--list",)}
TABLES: Final[dict[str, tuple[str, ...]]] = {
    "audit": ("audit", HOSTILE, *_ALL, "--show", "info"),
    "audit, own rules": ("audit", HOSTILE, *_ALL, "--rules", "RULES", "--check", "own", "--suppress", "SUPPRESSED"),
    "audit, in use": ("audit", HOSTILE, *_ALL, *_LOG, "--members", "MEMBERS", "--since", "EARLIER", "--show", "info"),
    "audit, framework": ("audit", HOSTILE, *_ALL, "--framework", "cis", "--show", "info"),
    "audit, leftovers": ("audit", HOSTILE, *_ALL, "--stale", "--show", "info"),
    "audit, baseline": ("audit", HOSTILE, *_ALL, "--baseline", "KNOWN", "--show", "info"),
    "causes": ("causes", HOSTILE, *_ALL, "--all", "--members", "MEMBERS"),
    "exposure": ("exposure", HOSTILE, *_ALL, "--members", "MEMBERS"),
    "bindings": ("bindings", HOSTILE, *_ALL),
    "diff": ("diff", "EMPTY", HOSTILE, *_ALL),
    "who-can": ("who-can", "get", "secrets", "--dump", HOSTILE, *_ALL, "-A"),
    "who-can, members": (
        *("who-can", "get", "secrets", "--dump", HOSTILE, *_ALL),
        *("--any-name", "--expand-groups", "--members", "MEMBERS"),
    ),
    "who-can, export": ("who-can", "get", "secrets", "--dump", HOSTILE, *_ALL, "--expand-groups", "--cloud", "EXPORT"),
    "who-can, GKE": ("who-can", "get", "pods", "--dump", HOSTILE, *_ALL, "--expand-groups", "--cloud", "GKE"),
    "who-can, AKS": ("who-can", "get", "pods", "--dump", HOSTILE, *_ALL, "--expand-groups", "--cloud", "AKS"),
    "who-can, url": ("who-can", "get", "--url", "/x", "--dump", HOSTILE, *_ALL),
    **{
        f"can-i {how} {at}": ("can-i", *words, "--dump", HOSTILE, f"--as={who}", "--members", "MEMBERS")
        for how, words in _ASKED.items()
        for at, who in enumerate(SUBJECTS)
    },
    "can-i url": ("can-i", "get", "--url", "/x", "--dump", HOSTILE, f"--as={SUBJECTS[0]}"),
    "causes, export": ("causes", HOSTILE, *_ALL, "--all", "--cloud", "EXPORT"),
    "causes, AKS": ("causes", HOSTILE, *_ALL, "--all", "--cloud", "AKS"),
    "causes, GKE": ("causes", HOSTILE, *_ALL, "--all", "--cloud", "GKE"),
    "permissions": ("permissions", SUBJECTS[1], HOSTILE, *_ALL, "--members", "MEMBERS"),
    "escalations": ("escalations", HOSTILE, *_ALL, "--direct"),
    "escalations, each step": ("escalations", HOSTILE, *_ALL, "--each", "--members", "MEMBERS", "--limit", "40"),
    "escalations, proven": ("escalations", HOSTILE, *_ALL, "--prove", "--limit", "6"),
    "radius": ("escalations", HOSTILE, *_ALL, "--radius", "--subject", SUBJECTS[1]),
    "risky": ("escalations", HOSTILE, *_ALL, "--risky-permissions"),
    "compared": ("escalations", HOSTILE, *_ALL, "--before", "EMPTY"),
    "upgrade": ("upgrade", HOSTILE, "--from", "1.30", "--to", "1.33", *_LOG, "--metrics", "METRICS", "--all"),
    "upgrade, accepted": ("upgrade", "OLD", "--from", "1.21", "--to", "1.25", *_ACCEPTED),
    "upgrade, manifests": ("upgrade", "--from", "1.21", "--to", "1.33", "--manifests", "OLD", "--all"),
    "upgrade, plan": ("upgrade", "OLD", "--from", "1.21", "--to", "1.33", "--plan"),
    "upgrade, tried": ("upgrade", "OLD", "--from", "1.21", "--to", "1.25", "--validate", "--all"),
    "upgrade, proven": ("upgrade", "OLD", "--from", "1.21", "--to", "1.25", "--prove"),
    "rehearse": ("rehearse", "drain", "NODE", "--dump", "NODES"),
    "rehearse, loss": ("rehearse", "loss", "--zone", "ZONE", "--dump", "NODES"),
    "removal-report, accepted": ("removal-report", "OLD", "--from-release", "1.21", "--to", "1.22", *_ACCEPTED[:2]),
    "removal-report": ("removal-report", "--dump", HOSTILE, *_ALL, *_LOG, "--from-release", "1.30", "--to", "1.32"),
    **{
        f"removal-report, {which}": (
            *("removal-report", "OLD", *_LOG, "--from-release", "1.21", "--to", "1.22"),
            f"--{which}",
        )
        for which in ("all", "prove")
    },
    "crd-diff": ("crd-diff", "OLD", "NEW", "--dump", HOSTILE),
    "history": ("history", "changes", "--dump", HOSTILE, *_ALL, *_LOG, "--dumped-at", "2026-03-03"),
    "history, who": (
        *("history", "who-can", "get", "secrets", "--dump", HOSTILE, *_ALL),
        *("--at", "2026-03-03", "--dumped-at", "2026-03-03"),
    ),
    "history, can": (
        *("history", "can", SUBJECTS[1], "get", "secrets", "--dump", HOSTILE, *_ALL, *_LOG),
        *("--at", "2026-03-04", "--dumped-at", "2026-03-03"),
    ),
    "history, since": (
        *("history", "since", SUBJECTS[1], "get", "secrets", "--dump", HOSTILE, *_ALL, "--dumped-at", "2026-03-03"),
    ),
    "prove": ("prove", "no-new-access", "SMALL", HOSTILE, *_ALL),
    "prove, never": (
        *("prove", "never", "get", "secrets", "--dump", HOSTILE, *_ALL),
        *(f"--except={SUBJECTS[1]}", "--members", "MEMBERS", "--within-hops", "1"),
    ),
    "prove, always": ("prove", "always", "get", "secrets", "--dump", HOSTILE, *_ALL, f"--by={SUBJECTS[3]}"),
    "prove, implies": (
        *("prove", "implies", "--dump", HOSTILE, *_ALL, "--resource", "configmaps"),
        *("--policy", "object.metadata.name != 'x'", "--policy", "object.metadata.name != '\x1b[2J<x>'"),
    ),
    "prove, admits": (
        *("prove", "admits", "--dump", HOSTILE, *_ALL, "--resource", "configmaps"),
        *("--constraint", "object.metadata.name != '\x1b[2J<x>'"),
    ),
    "check": ("check", "SUITE", "--dump", HOSTILE, *_ALL),
    "policy check": ("policy", "check", "HISTORY"),
    "plan": ("plan", HOSTILE, *_ALL, "-f", "PLANNED", "-f", "SMALL"),
    "plan, pruned": ("plan", HOSTILE, *_ALL, "-f", "SMALL", "--prune", "x!=y"),
    "plan, expected": ("plan", "SMALL", *_ALL, "-f", "GRANT", "--expect", "SUITE", "--members", "MEMBERS"),
    "what-if": ("what-if", "delete", "clusterrolebinding", SUBJECTS[0][5:], "--dump", HOSTILE, *_ALL),
    "what-if, paths": ("what-if", "apply", "GRANT", "--dump", HOSTILE, *_ALL, "--show", "paths"),
    "what-if, requests": ("what-if", "apply", "GRANT", "--dump", HOSTILE, *_ALL, *_LOG, "--show", "requests"),
    "cut": ("cut", HOSTILE, *_ALL, "--direct"),
    "cut, in use": ("cut", HOSTILE, *_ALL, *_LOG, "--members", "MEMBERS", f"--keep={SUBJECTS[0]}", "--verify"),
    "cut, plan": ("cut", HOSTILE, *_ALL, "--best", "2"),
    "least-privilege": ("least-privilege", HOSTILE, *_ALL, *_LOG, "--verify"),
    "unused": ("least-privilege", HOSTILE, *_ALL, *_LOG, "--unused"),
    "migrate": ("migrate", "OLD", "--to", "1.33", "--check"),
    "fleet audit": ("fleet", "audit", HOSTILE, "SMALL", "--scheduler", "threads"),
    "fleet diff": ("fleet", "diff", "--golden", "SMALL", HOSTILE, "SMALL", "--scheduler", "threads"),
    "fleet check": ("fleet", "check", "--suite", "SUITE", HOSTILE, "SMALL", "--scheduler", "threads"),
}
"""Answers with ``--output``."""
PROSE: Final[dict[str, tuple[str, ...]]] = {
    "details": (*TABLES["escalations"], "--details"),
    "commands": (*TABLES["cut"], "--commands"),
    "patch": ("migrate", "OLD", "--to", "1.33"),
    "one version": ("migrate", "OLD", "--to", "1.33", "--output-version", "networking.k8s.io/v1"),
    "policy close": ("policy", "close", "--dump", HOSTILE, *_ALL, *_LOG, "--subject", SUBJECTS[1]),
    "policy plan": ("policy", "plan", "HISTORY", "GROUP", "v1"),
}
"""Texts on standard output beside tables."""
FILES: Final[dict[str, tuple[str, ...]]] = {
    "report": (
        *TABLES["audit"],
        "--html",
        "TO/report.html",
        "--json",
        "TO/report.json",
        "--excel",
        "TO/findings.xlsx",
        "--sarif",
        "TO/report.sarif",
    ),
    "proven report": (*TABLES["audit, in use"], "--html", "TO/proven.html", "--prove"),
    "baseline": (*TABLES["audit"], "--write-baseline", "TO/known.json"),
    "upgrade page": (*TABLES["upgrade, proven"], "--report", "TO/upgrade.html"),
    "cut objects": (*TABLES["cut"], "--write", "TO/cut.yaml"),
    "least objects": (*TABLES["least-privilege"], "--write", "TO/least.yaml"),
    "migrated folder": ("migrate", "OLD", "--to", "1.33", "--output-dir", "TO/migrated"),
    "migrated place": ("migrate", "TO/OLD.yaml", "--to", "1.33", "--in-place"),
    "saved": ("save", HOSTILE, "--secrets", "--to", "STORE"),
    "redacted": ("redact", HOSTILE, "--to", "TO/redacted.yaml", "--keep-configmaps"),
    "pseudonyms": ("redact", HOSTILE, "--to", "TO/named.json", "--pseudonyms", "--key-file", "KEY"),
    "parquet": (*TABLES["fleet audit"], "--parquet", "TO/parquet"),
    **{
        f"graph {form}": (*TABLES["escalations"], "--graph", f"TO/graph.{form}")
        for form in ("graphml", "json", "parquet")
    },
    **{
        f"picture of {name}": (*TABLES[name], "--plot", f"TO/{name}.svg")
        for name in ("audit", "causes", "exposure", "diff", "escalations", "upgrade", "what-if", "cut, plan")
    },
}
"""Files that are written. ``TO`` is a folder."""
REFUSED: Final = (TABLES["rehearse"], TABLES["least-privilege"], FILES["least objects"])
"""Lines that end with an error, which shows names too: their objects are refused by a server."""
CHOOSING: Final = frozenset(
    [
        "against",
        "at",
        "dumped-at",
        "index",
        "link",
        "schema",
        "authorization-mode",
        "help",
        "helm",
        "output",
        "no-headers",
        "quiet",
        "no-color",
        "no-pager",
        "theme",
        "demo",
        "context",
        "kubeconfig",
        "filename",
        "release",
        "complete",
        "cloud",
        "manifests",
        "into",
        "unpack",
        "no-cache",
        "namespace",
        "all-namespaces",
        "severity",
        "fail-on",
        "fail-on-new",
        "include-defaults",
        "managed",
        "goal",
        "nature",
        "role",
        "as-group",
        "subresource",
        "api-group",
        "area",
        "to",
        "from",
        "max-hops",
        "allow",
        "free",
        "names",
        "no-reuse",
        "scheduler",
        "workers",
        "golden",
        "edition",
        "breaches",
        "kubernetes",
        "fields",
        "gates",
        "start",
        "image",
        "cpu",
        "timeout",
        "ready-after",
        "dump",
        "as",
        "subject",
        "from-release",
        "etcd-prefix",
        "etcd-cafile",
        "etcd-certfile",
        "etcd-keyfile",
        "encryption-provider-config",
    ]
)
"""Options that choose what is read or shown, and show it in no other way."""
SHOWING_NOTHING: Final = {
    "releases": "shows tables that come with simkit",
    "serve": "answers clients, which show what they get in their own way",
    "mcp": "answers programs, whose answers have the hostile cluster in cli/test_mcp.py",
    "testing": "prints a folder of the user",
    "notebooks": "copies files that come with simkit",
    "dump": "prints commands of its own arguments, and errors of a server, in test_hostile_servers.py",
    "watch": "shows events, whose names are written out in analysis/history/test_follow.py, and errors of a server",
    "completion": "prints a script of its own; names of a dump in cli/test_output.py",
}


def parsers_of(command: str) -> Iterator[argparse.ArgumentParser]:
    """The parser of a command and those of its actions."""
    waiting = [cli._parser([command])]
    [waiting] = [
        [each.choices[command]] for each in waiting[0]._actions if isinstance(each, argparse._SubParsersAction)
    ]
    while waiting:
        parser = waiting.pop()
        yield parser
        for each in parser._actions:
            if isinstance(each, argparse._SubParsersAction):
                waiting.extend(each.choices.values())
