"""Proof of an upgrade report by execution: recorded requests and manifests on forks at the releases on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, NamedTuple

import pandas as pd

from simkit.analysis.audit_log.requests import RecordedRequest
from simkit.analysis.rbac.tables import table
from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.result import Evidence
from simkit.analysis.upgrade.items import Item
from simkit.analysis.upgrade.migration import create_on_trial, ensure_namespace
from simkit.analysis.upgrade.removed_resources import RemovedResources
from simkit.analysis.upgrade.replay import Refusal, Refusals, ReplayedRequest, best_answers, key_of, replay
from simkit.analysis.upgrade.requests import caller_text
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.logic.migration.migrate_object import migrate_object
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Object, namespace_of
from simkit.schema.lifecycle import every_resource, lifecycle_of
from simkit.schema.releases import minor_of
from simkit.seams.snapshot import Sandbox

BREAKS: Final = "breaks, and works when mended"
UNMENDED: Final = "breaks"
FINE: Final = "works"
FAILED_BEFORE: Final = "fails before and after"
_EXISTS: Final = 409


class Answers(NamedTuple):
    """The answers of servers to one request or manifest.

    ``before``: at the first release (None where it is not known), ``after``: at the release in question, ``mended``:
    there, after the mending (None where there is none). ``message`` is the refusal, ``mending`` says what was changed
    or why nothing could be.
    """

    release: str
    what: str
    who: str
    request: str
    requests: int
    before: int | None
    after: int
    mended: int | None
    verdict: str
    message: str
    mending: str


@dataclass(frozen=True, slots=True)
class UpgradeProof(Evidence):
    """Answers before and after an upgrade, and after the mending. It holds if all that breaks works when mended."""

    rows: tuple[Answers, ...]

    def __bool__(self) -> bool:
        return all(row.verdict != UNMENDED for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """One row per manifest or distinct request and release: release, what, who, request, requests (how many are
        like it), before, after and mended (status codes), verdict, message (of the refusal), mending."""
        made = table(self.rows, Answers._fields)
        return made.astype({"before": "Int64", "mended": "Int64"})

    def summary(self) -> pd.DataFrame:
        """DataFrame with one row per verdict: what, count."""
        verdicts = [row.verdict for row in self.rows]
        found = [(each, verdicts.count(each)) for each in (UNMENDED, BREAKS, FAILED_BEFORE, FINE) if each in verdicts]
        return pd.DataFrame(found, columns=["what", "count"])

    def __repr__(self) -> str:
        told = ", ".join(f"{row.count} {row.what}" for row in self.summary().itertuples())
        return f"<UpgradeProof: {told or 'nothing to execute'}>"

    def _repr_html_(self) -> str:
        return ReadableFrame(self.to_frame())._repr_html_()


def prove_upgrade(
    sandbox: Sandbox,
    span: ReleaseSpan,
    items: Sequence[Item],
    requests: Sequence[RecordedRequest],
    removed: RemovedResources,
    refused: Refusals,
    *,
    after: Sandbox | None = None,
) -> UpgradeProof:
    """Execute manifests and recorded requests on forks of a cluster, as they are and mended.

    ``after`` is the cluster after a change that is no upgrade.
    """
    rows = [*_manifests(sandbox, span, items), *_requests(sandbox, span, requests, removed, after)]
    rows += map(_refused, refused.found)
    return UpgradeProof(tuple(rows))


# Manifests


def _manifests(sandbox: Sandbox, span: ReleaseSpan, items: Iterable[Item]) -> Iterator[Answers]:
    """Each manifest in a version that goes, at the release that takes it away and at the last one."""
    concerned: dict[str, list[Item]] = {}
    for item in items:
        life = lifecycle_of(item.api_version, item.kind)
        if item.origin == "stored" or life is None or not life.removed:
            continue
        if minor_of(life.removed) <= minor_of(span.end):
            for release in {life.removed if span.meets(life.removed) else span.end, span.end}:
                concerned.setdefault(release, []).append(item)
    start = sandbox.fork(release=span.start) if span.start and concerned else None
    for release in sorted(concerned, key=minor_of):
        server = sandbox.fork(release=release)
        for item in concerned[release]:
            yield _manifest(item, release, server, start)


def _manifest(item: Item, release: str, server: Sandbox, start: Sandbox | None) -> Answers:
    before = _created(item.obj, start) if start is not None else None
    after = _created(item.obj, server)
    found = migrate_object(item.obj, release)
    mended = create_on_trial(found.object, server, release) if found.changed else None
    told = f"written as {found.to}" if found.to else "; ".join(found.person) or "nothing to change"
    asked = (release, item.title, item.place, f"create {item.api_version} {item.kind}", 1)
    return _answers(asked, before, after, mended, told, fine=FINE if _accepted(after) else "", accepted=_accepted)


def _created(obj: Object, server: Sandbox) -> Response:
    """The answer to an object that is created as a trial, at the path of its own version, served or not."""
    resource = next(
        each for name, each in every_resource() if (name, each.kind) == (obj.get("apiVersion"), obj.get("kind"))
    )
    namespace = namespace_of(obj) or "default"
    if resource.namespaced:
        ensure_namespace(server, namespace)
    request = Request.of("POST", f"{resource.collection(namespace)}?dryRun=All", obj)
    return server.perform(request, identity=administrator())


# Recorded requests


def _requests(
    sandbox: Sandbox,
    span: ReleaseSpan,
    requests: Sequence[RecordedRequest],
    removed: RemovedResources,
    after: Sandbox | None,
) -> Iterator[Answers]:
    """Each distinct request for what goes, at the release that takes it away, as recorded and in another version."""

    def later(release: str) -> Sandbox:
        return sandbox.fork(release=release) if after is None else after.fork()

    by_release: dict[str, list[RecordedRequest]] = {}
    for request in requests:
        gone = removed.resource(request.api_version, request.resource)
        if gone is not None:
            by_release.setdefault(gone.since if gone.since and span.meets(gone.since) else span.end, []).append(request)
    for release in sorted(by_release, key=minor_of):
        asked = by_release[release]
        answers = list(replay(asked, sandbox.fork(), later(release)))
        moved = filter(None, (_moved(each, removed, release) for each in asked))
        mended = best_answers(moved, later(release))
        for answer in answers:
            yield _request(answer, mended.get(key_of(answer.request)), removed, release)


def _answers(
    asked: tuple[str, str, str, str, int],
    before: Response | None,
    after: Response,
    mended: Response | None,
    told: str,
    *,
    fine: str,
    accepted: Callable[[Response], bool],
) -> Answers:
    """The row of what was asked; ``fine`` is the verdict if nothing breaks."""
    works = mended is not None and accepted(mended)
    return Answers(
        *asked,
        before.status if before is not None else None,
        after.status,
        mended.status if mended is not None else None,
        fine or (BREAKS if works else UNMENDED),
        "" if accepted(after) else after.message,
        told if mended is None or works else f"{told}: {mended.message}",
    )


def _refused(refusal: Refusal) -> Answers:
    """The answers to requests that a later release refuses, of which no other version helps."""
    request = refusal.request
    place = f"{request.namespace}/{request.name}".strip("/")
    return Answers(
        refusal.release,
        f"{request.api_version} {refusal.resource}",
        refusal.who,
        f"{request.verb} {place}".rstrip(),
        refusal.count,
        refusal.before.status,
        refusal.after.status,
        None,
        UNMENDED,
        refusal.after.message,
        "grant what the answer names, or change the request",
    )


def _moved(request: RecordedRequest, removed: RemovedResources, release: str) -> RecordedRequest | None:
    """The same request in the version that takes the place of the one that goes."""
    gone = removed.resource(request.api_version, request.resource)
    version = removed.successor(gone.api_version, gone.kind, release).partition(" ")[0] if gone is not None else ""
    if not version:
        return None
    uri = request.uri.replace(f"/{request.api_version}/", f"/{version}/", 1)
    body = (
        migrate_object(request.body, release, output_version=version).object
        if isinstance(request.body, dict)
        else request.body
    )
    return replace(request, uri=uri, group_version=GroupVersion.parse(version), body=body)


def _request(answer: ReplayedRequest, mended: Response | None, removed: RemovedResources, release: str) -> Answers:
    request = answer.request
    gone = removed.resource(request.api_version, request.resource)
    instead = removed.successor(gone.api_version, gone.kind, release).partition(" ")[0] if gone is not None else ""
    told = f"asked as {instead}" if instead else "there is no successor"
    what = f"{request.api_version} {'/'.join(filter(None, (request.resource, request.subresource)))}"
    place = f"{request.verb} {f'{request.namespace}/{request.name}'.strip('/')}".rstrip()
    asked = (release, what, caller_text(request.identity.user, "", request.agent), place, answer.number)
    fine = "" if answer.breaks else FINE if answer.after.succeeded else FAILED_BEFORE
    return _answers(asked, answer.before, answer.after, mended, told, fine=fine, accepted=attrgetter("succeeded"))


def _accepted(response: Response) -> bool:
    return response.succeeded or response.status == _EXISTS
