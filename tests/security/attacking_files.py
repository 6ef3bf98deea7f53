"""Attacks on whoever reads a file, as data: a new reader is tried with all of them from its first day."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.security.hostile_cluster import HOSTILE
from tests.security.hostile_commands import FILES, PROSE, TABLES


def _archive(name: str, **member: object) -> bytes:
    """A compressed archive with one member."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        for attribute, value in member.items():
            setattr(info, attribute, value)
        archive.addfile(info)
    return written.getvalue()


_OBJECT: Final = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": %s}'
ATTACKS: Final[dict[str, bytes]] = {
    "nothing": b"",
    "blank": b" \n\t\n",
    "null": b"null",
    "a number": b"17",
    "a text": b'"text"',
    "a list of lists": b"[[[1]]]",
    "lists in a row": b"[" * 100_000,
    "maps in a row": b'{"a":' * 100_000,
    "nested YAML": b"\n".join(b" " * depth + b"a:" for depth in range(3000)),
    "flow in YAML": b"a: " + b"{b: " * 5000,
    "aliases that double": b"a: &a [x]\n"
    + b"".join(b"%c: &%c [*%c,*%c]\n" % (98 + n, 98 + n, 97 + n, 97 + n) for n in range(24)),
    "a list that holds itself": b"&a [*a]",
    "a tag that runs a program": b"!!python/object/apply:os.system ['touch pwned']",
    "a tag of an object": b"!!python/object:simkit.Cluster {}",
    "merge keys in a circle": b"a: &a\n  <<: *b\nb: &b\n  <<: *a\n",
    "a key that is a list": b"? [a, b]\n: c\n",
    "one key twice": b'{"kind": "List", "kind": "Role", "apiVersion": "v1"}',
    "no number": _OBJECT % b"NaN",
    "an endless number": _OBJECT % b"1e999999999",
    "a number of a million digits": _OBJECT % (b"9" * 1_000_000),
    "half of a letter": _OBJECT % rb'"\ud800"',
    "a zero letter": _OBJECT % rb'"\u0000"',
    "letters of terminals": _OBJECT % b'"\x1b]52;c;cm0gLXJm\x07"',
    "no letters": b"\xff\xfe\x00\xd8",
    "sixteen bits": '{"a": 1}'.encode("utf-16"),
    "a mark before": b"\xef\xbb\xbf" + _OBJECT % b"{}",
    "many documents": b"---\n" * 20_000,
    "a long line": b"a: " + b"x" * 5_000_000,
    "half of a file": Path(HOSTILE).read_bytes()[:5000],
    "a packed bomb": gzip.compress(b"a" * 100_000_000),
    "half of a packed file": gzip.compress(b"a" * 10_000)[:20],
    "a way out of an archive": _archive("../../pwned"),
    "a link out of an archive": _archive("a", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a device in an archive": _archive("a", type=tarfile.CHRTYPE),
    "objects of wrong types": b'{"apiVersion": 1, "kind": [], "metadata": "x", "items": {"a": 1}, "rules": 7, "users": 3}',
    "items that are none": b'{"apiVersion": "v1", "kind": "List", "items": [null, 1, "a", [], {"kind": 5}]}',
}


def _readers_of_dumps() -> Iterator[tuple[str, tuple[str, ...]]]:
    """For each command that shows the hostile cluster, a line that reads the attack in its place."""
    for words in (*TABLES.values(), *PROSE.values(), *FILES.values()):
        if HOSTILE in words:
            named = {at for at, word in enumerate(words) if word.isupper() and words[at - 1].startswith("--")}
            kept = (word for at, word in enumerate(words) if not {at, at + 1} & named)
            yield f"the dump of {words[0]}", tuple("FILE" if word == HOSTILE else word for word in kept)


_DUMPS: Final[dict[str, tuple[str, ...]]] = {
    **dict(reversed(list(_readers_of_dumps()))),
    "the dump of serve": ("serve", "--insecure-port", "0", "FILE"),
    "the dump of mcp": ("mcp", "FILE"),
    "the dump of save": ("save", "FILE", "--to", "sqlite:OUT.db"),
    "the dump of rehearse": ("rehearse", "drain", "a", "--dump", "FILE"),
}
READERS_OF_DUMPS: Final = frozenset(_DUMPS.values())
READERS: Final[dict[str, tuple[str, ...]]] = {
    **_DUMPS,
    "a dump": ("who-can", "get", "secrets", "--dump", "FILE"),
    "a packed dump": ("who-can", "get", "secrets", "--dump", "FILE.gz"),
    "an archive": ("audit", "FILE.tar.gz"),
    "a dump in JSON": ("audit", "FILE.json"),
    "manifests": ("audit", "FILE", "--manifests"),
    "both sides of a comparison": ("diff", "FILE", "FILE"),
    "members": ("who-can", "get", "secrets", "--dump", "EMPTY", "--members", "FILE"),
    "an export": ("who-can", "get", "secrets", "--dump", "EMPTY", "--cloud", "FILE"),
    "an export of a server": ("serve", "EMPTY", "--insecure-port", "0", "--cloud", "FILE"),
    "checks": ("audit", "EMPTY", "--rules", "FILE"),
    "what is accepted": ("audit", "EMPTY", "--suppress", "FILE"),
    "what was known": ("audit", "EMPTY", "--baseline", "FILE"),
    "expectations": ("check", "FILE", "--dump", "EMPTY"),
    "an audit log": ("least-privilege", "--dump", "EMPTY", "--audit-log", "FILE"),
    "the log of an upgrade": ("upgrade", "EMPTY", "--to", "1.33", "--audit-log", "FILE"),
    "metrics": ("upgrade", "EMPTY", "--to", "1.33", "--metrics", "FILE"),
    "what is migrated": ("migrate", "FILE", "--to", "1.33"),
    "definitions": ("crd-diff", "FILE", "FILE"),
    "a kubeconfig": ("who-can", "get", "secrets", "--context", "", "--kubeconfig", "FILE"),
    "a dump to redact": ("redact", "FILE", "--to", "OUT.json"),
    "an earlier report": ("audit", "EMPTY", "--since", "FILE"),
    "accepted rows": ("upgrade", "EMPTY", "--to", "1.33", "--suppress", "FILE"),
    "manifests of an upgrade": ("upgrade", "--to", "1.33", "--manifests", "FILE"),
    "another dump": ("history", "changes", "EMPTY", "FILE", "--dumped-at", "2026-03-03", "--dumped-at", "2026-04-03"),
    "an earlier dump": ("escalations", "EMPTY", "--before", "FILE"),
    "manifests to apply": ("plan", "EMPTY", "--complete", "*", "-f", "FILE", "--expect", "FILE"),
    "expectations of many clusters": ("fleet", "check", "--suite", "FILE", "EMPTY", "--scheduler", "threads"),
    "a key": ("redact", "EMPTY", "--to", "OUT.json", "--pseudonyms", "--key-file", "FILE"),
    "a history of an API": ("policy", "check", "FILE"),
    "two claims": ("prove", "no-new-access", "FILE", "FILE"),
    **{
        f"serve {flag}": ("serve", "--insecure-port", "0", flag, "FILE")
        for flag in (
            "--tls-cert-file",
            "--tls-private-key-file",
            "--client-ca-file",
            "--requestheader-client-ca-file",
            "--token-auth-file",
            "--authorization-config",
            "--authorization-policy-file",
            "--authorization-webhook-config-file",
            "--service-account-key-file",
            "--service-account-signing-key-file",
            "--oidc-ca-file",
            "--authentication-config",
            "--authentication-token-webhook-config-file",
            "--audit-policy-file",
            "--etcd-cafile",
            "--etcd-certfile",
            "--etcd-keyfile",
            "--encryption-provider-config",
            "--cluster-signing-cert-file",
            "--cluster-signing-key-file",
            "--root-ca-file",
            "--admission-control-config-file",
            "--node-config",
            "--proxy-client-cert-file",
            "--proxy-client-key-file",
        )
    },
}
"""Command lines in which FILE is read. EMPTY is a small dump, OUT is written; servers are made and not run."""
WRITTEN: Final = frozenset(
    (
        *("--to", "--html", "--json", "--sarif", "--plot", "--write", "--report", "--write-baseline", "--output-dir"),
        *("--index", "--parquet", "--graph", "--kubeconfig-out", "--audit-log-path", "--cert-dir"),
        "--excel",
    )
)
"""Options that name what is written."""
