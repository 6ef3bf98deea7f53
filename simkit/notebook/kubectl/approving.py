"""kubectl certificate approve and deny.

Upstream: k8s.io/kubectl/pkg/cmd/certificates, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any, Final

from simkit.meta.clock import timestamp
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.selection import documents, place_of, title
from simkit.notebook.kubectl.writing import said

_WORDS: Final = {"approve": ("Approved", "approved"), "deny": ("Denied", "denied")}
"""The condition of a request for a certificate, and how it is told."""


def certificate(client: Client, args: Namespace, stdin: str) -> str:
    """A line for each request that was approved or denied. Raises KubectlError for requests that are not there."""
    word, *names = args.words or [""]
    if word not in _WORDS:
        raise KubectlError(f'error: unknown command "{word}"; known: certificate {", certificate ".join(_WORDS)}')
    condition, told = _WORDS[word]
    resource = client.resource("certificatesigningrequests")
    names += [place_of(client, obj)[2] for obj in (documents(client, args.filename, stdin) if args.filename else ())]
    if not names:
        raise KubectlError("error: one or more CSRs must be specified as <name> or -f <filename>")
    done, errors = [], []
    for name in names:
        path = client.path(resource, "", name)
        try:
            live = client.ask("GET", path).object
            if not _has(live, condition) or args.force:
                live = client.ask("PUT", f"{path}/approval", _with(client, live, condition)).object
        except KubectlError as error:
            errors.append(error.text)
            continue
        done.append((title(resource, name), told, live))
    if errors:
        raise KubectlError(said(args, done) + "\n".join(errors))
    return said(args, done)


def _has(live: dict[str, Any], condition: str) -> bool:
    return any(each["type"] == condition for each in (live.get("status") or {}).get("conditions") or ())


def _with(client: Client, live: dict[str, Any], condition: str) -> dict[str, Any]:
    """The request with a further condition. Raises KubectlError if it has the opposite one."""
    for other in _WORDS.values():
        if other[0] != condition and _has(live, other[0]):
            raise KubectlError(f'error: certificate signing request "{live["metadata"]["name"]}" is already {other[1]}')
    status = live.get("status") or {}
    verb = "approve" if condition == "Approved" else "deny"
    made = {
        "type": condition,
        "status": "True",
        "reason": f"Kubectl{verb.capitalize()}",
        "message": f"This CSR was {condition.lower()} by kubectl certificate {verb}.",
        "lastUpdateTime": timestamp(client.cluster.engine.clock.now()),
    }
    return {**live, "status": {**status, "conditions": [*(status.get("conditions") or ()), made]}}
