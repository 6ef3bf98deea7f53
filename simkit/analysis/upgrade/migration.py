"""Files of manifests rewritten for a release, tried on a server of that release, with what a person has to see to."""

from __future__ import annotations

import difflib
import os.path
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Result
from simkit.logic.migration.documents import Document, Rewritten, objects_of, rewrite
from simkit.logic.migration.kustomizations import (
    FILES,
    Pair,
    Patches,
    held_back,
    is_json_patch,
    json_patch_file,
    patch_files,
    retargeted,
    strategic_patch,
)
from simkit.logic.migration.migrate_object import MigratedObject, migrate_object
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at, group_version_of, name_of, namespace_of
from simkit.meta.whole_file import write_whole
from simkit.present.escaping import patch_lines, patch_path, readable_path
from simkit.schema.catalogue import Catalogue
from simkit.schema.releases import release_name
from simkit.seams.snapshot import Sandbox

if TYPE_CHECKING:
    import pandas as pd

MIGRATION_COLUMNS: Final = ("file", "line", "kind", "name", "before", "after", "verdict", "person", "notes")
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".tpl")
_EXISTS: Final = 409


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """One text before and after."""

    path: str
    before: str
    rewritten: Rewritten

    @property
    def place(self) -> Path:
        """The path without links."""
        return Path(self.path).resolve()

    @property
    def after(self) -> str:
        return self.rewritten.text

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def patch(self) -> str:
        """The change as a unified diff, as ``patch -p1`` and ``git apply`` read it."""
        old, new = patch_lines(self.before), patch_lines(self.after)
        name = self.path.lstrip("/")
        lines = difflib.unified_diff(old, new, patch_path(f"a/{name}"), patch_path(f"b/{name}"))
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Migration(Result):
    """Rewritten files. It is true if nothing is left for a person to do."""

    release: str
    files: tuple[MigratedFile, ...]
    tried: bool = False
    """True if the rewritten objects were sent to a server of the release."""

    def __bool__(self) -> bool:
        return not any(row[-2] for row in self._rows()) and not self.unread

    def __len__(self) -> int:
        return sum(1 for _ in self._rows())

    @property
    def unread(self) -> tuple[MigratedFile, ...]:
        """The files of which something is no YAML and no JSON, or no object."""
        return tuple(each for each in self.files if each.rewritten.problems)

    @property
    def changed(self) -> tuple[MigratedFile, ...]:
        """The files that are not as they were."""
        return tuple(each for each in self.files if each.changed)

    def to_frame(self) -> pd.DataFrame:
        """One row per document that is concerned: file, line, kind, name, before and after (apiVersion), verdict
        (``rewritten``, ``a person has to see to it``), person (what, as a tuple), notes (a tuple)."""
        return table(self._rows(), MIGRATION_COLUMNS)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for each in self.files:
            for document in each.rewritten.documents:
                migrated = document.migrated
                verdict = "a person has to see to it" if migrated.person else "rewritten"
                after = migrated.to or document.before
                place = (readable_path(each.path), document.line, document.kind, document.name)
                yield (*place, document.before, after, verdict, migrated.person, migrated.notes)
            for problem in each.rewritten.problems:
                line, _, told = problem.removeprefix("line ").partition(": ")
                number = int(line) if line.isdigit() else 1
                yield readable_path(each.path), number, "", "", "", "", "not read", (told or problem,), ()

    def patch(self) -> str:
        """All changes as one unified diff."""
        return "".join(each.patch() for each in self.changed)

    def write(self, folder: str | Path | None = None) -> list[str]:
        """Write the changed files in place, or all of them into a folder; gives back the paths that were written."""
        written = []
        for each in self.changed if folder is None else self.files:
            path = Path(each.path) if folder is None else Path(folder) / _inside(each.path, self.files)
            if folder is not None and not path.parent.resolve().is_relative_to(Path(folder).resolve()):
                raise SimkitError(f"{path.parent} leads out of {folder}; name a folder without such links")
            # A file of the source that is a link was found to stay inside; the link is kept.
            write_whole(path.resolve() if folder is None else path, each.after)
            written.append(str(path))
        return written

    def summary(self) -> pd.DataFrame:
        """DataFrame with the rows rewritten, a person has to see to it, not read: what, count."""
        return table(Counter(row[6] for row in self._rows()).items(), ("what", "count"))


def _inside(path: str, files: Sequence[MigratedFile]) -> Path:
    """The path of a file below the folder that all have in common."""
    folders = [os.path.dirname(os.path.abspath(each.path)) for each in files]
    return Path(os.path.relpath(os.path.abspath(path), os.path.commonpath(folders)))


def migrate(
    source: str | Path | Sequence[str | Path],
    to: str,
    *,
    output_version: str | None = None,
    sandbox: Sandbox | None = None,
    check: bool = False,
) -> Migration:
    """Manifests rewritten for a release, with comments, order and quotes kept.

    Parameters
    ----------
    source
        Files and folders of YAML and JSON, or one text with several lines.
    to
        The release whose server shall take them.
    output_version
        An ``apiVersion`` to write, for the kinds that have it, also where the old one is still served.
    sandbox
        A cluster on a fork of which, at the release, each rewritten object is created as a trial with strict field
        validation; what it refuses is left to a person, with its message.
    check
        Whether objects that need no rewriting are tried there as well.

    Returns
    -------
    Migration
        ``patch()`` is a unified diff, ``write()`` changes the files, ``to_frame()`` has a row per document that is
        concerned. What is of other kinds passes through untouched.

    Raises
    ------
    SimkitError
        For an unknown release, for a version that no kind has, and for a path at which there is nothing.

    Examples
    --------
    >>> found = migrate("apiVersion: batch/v1beta1\\nkind: CronJob\\nmetadata:\\n  name: nightly\\n", "1.25")
    >>> found.files[0].after.splitlines()[0]
    'apiVersion: batch/v1'
    """
    release = release_name(to)
    wanted = output_version or ""
    if wanted and not any(each.api_version == wanted for each in Catalogue.for_release(release).resources()):
        raise SimkitError(f"release {release} serves no version {wanted!r}")
    files = [
        MigratedFile(path, text, rewrite(text, release, output_version=wanted, file=path))
        for path, text in _texts(source)
    ]
    patches = _patches(files)
    files = _referring(files, patches, release)
    if sandbox is not None:
        server = sandbox.fork(release=release)
        files = [each if each.place in patches else _tried(each, server, release, check=check) for each in files]
    return Migration(release, tuple(files), sandbox is not None)


def _texts(source: str | Path | Sequence[str | Path]) -> Iterator[tuple[str, str]]:
    if isinstance(source, str) and "\n" in source:
        yield "the given text", source
        return
    for each in [source] if isinstance(source, str | Path) else source:
        path = Path(os.path.expanduser(each))
        if path.is_dir():
            inner = sorted(one for one in path.rglob("*") if one.is_file() and _is_read(one))
            if not inner:
                raise SimkitError(f"there is no manifest in {path}; files that end in {', '.join(_SUFFIXES)} are read")
            for one in inner:
                if one.resolve().is_relative_to(path.resolve()):
                    yield str(one), _read(one)
        elif path.exists():
            yield str(path), _read(path)
        else:
            raise SimkitError(f"there is nothing to migrate at {path}")


def _is_read(path: Path) -> bool:
    return path.suffix.lower() in _SUFFIXES or path.name in FILES


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return stream.read()
    except UnicodeDecodeError:
        raise SimkitError(f"{path} is no text in UTF-8") from None


# Kustomizations, which name the versions of what they patch


_Targets = Mapping[Path, Sequence[Mapping[str, Any]]]


def _patches(files: Sequence[MigratedFile]) -> _Targets:
    """The files that hold patches, by the kustomizations beside them, with their targets: no object there is whole."""
    found: dict[Path, list[Mapping[str, Any]]] = {}
    for each in files:
        for name, target in patch_files(each.before) if each.place.name in FILES else ():
            found.setdefault((Path(each.path).parent / name).resolve(), []).append(target)
    return found


def _referring(files: Sequence[MigratedFile], patches: _Targets, release: str) -> list[MigratedFile]:
    """The files, in which kustomizations and their patches follow the objects that were rewritten."""
    if not any(each.place.name in FILES for each in files):
        return list(files)
    known = Patches([pair for each in files if each.place not in patches for pair in _pairs(each, release)], release)
    made = {each.place: _following(each, patches.get(each.place), known) for each in files}
    kept = held_back({each.place: each.before for each in files}, made, patches)
    return [replace(each, rewritten=kept[each.place]) for each in files]


def _pairs(file: MigratedFile, release: str) -> Iterator[Pair]:
    """The rewritten objects of a file, as they were and as they are."""
    lines = {each.line for each in file.rewritten.documents if each.migrated.changed and each.migrated.to}
    for line, obj in objects_of(file.before) if lines else ():
        made = migrate_object(obj, release)
        if line in lines and made.to:
            yield Pair(obj, made.object)


def _following(file: MigratedFile, targets: Sequence[Mapping[str, Any]] | None, patches: Patches) -> Rewritten:
    if targets is None and file.place.name in FILES:
        made, old = retargeted(file.after, patches), file.rewritten
        return replace(old, text=made.text, documents=(*old.documents, *made.documents))
    if targets is None:
        return file.rewritten
    if is_json_patch(file.before):
        return json_patch_file(file.before, targets, patches)
    return strategic_patch(file.before, patches)


# What a server of the release says to the rewritten objects


def _tried(file: MigratedFile, server: Sandbox, release: str, *, check: bool) -> MigratedFile:
    documents = [_tried_document(each, server, release) for each in file.rewritten.documents]
    if check:
        documents = sorted((*documents, *_refused(file, server, release)), key=lambda one: one.line)
    return replace(file, rewritten=replace(file.rewritten, documents=tuple(documents)))


def _tried_document(document: Document, server: Sandbox, release: str) -> Document:
    migrated = document.migrated
    if not migrated.changed or migrated.person or not document.whole:
        return document
    said = refusal(migrated.object, server, release)
    if not said:
        return document
    told = f"a server of {release} refuses it: {said}"
    return replace(document, migrated=replace(migrated, person=(told,)))


def _refused(file: MigratedFile, server: Sandbox, release: str) -> Iterator[Document]:
    """The objects that need no rewriting and that the server refuses all the same."""
    known = {(one.line, one.kind, one.name) for one in file.rewritten.documents}
    for line, obj in objects_of(file.before):
        kind, version = obj.get("kind"), obj.get("apiVersion")
        if not isinstance(kind, str) or not isinstance(version, str):
            continue
        name = str(name_of(obj)) if isinstance(obj.get("metadata"), dict) else ""
        said = "" if (line, kind, name) in known else refusal(obj, server, release)
        if said:
            told = MigratedObject(obj, person=(f"a server of {release} refuses it: {said}",))
            yield Document(line, kind, name, version, told)


def refusal(obj: Object, server: Sandbox, release: str) -> str:
    """The refusal of a server for a dry-run creation with strict validation; empty if it accepts the object."""
    if not isinstance(obj.get("metadata", {}), dict | None):
        return "its metadata is no object"
    response = create_on_trial(obj, server, release)
    if response is None or response.succeeded or response.status == _EXISTS:
        return ""
    return response.message or str(response.status)


def create_on_trial(obj: Object, server: Sandbox, release: str) -> Response | None:
    """The answer to a trial of creating an object; None for a kind that is no built-in one of the release."""
    known = Catalogue.for_release(release)
    resource = known.kind(GroupVersionKind(*GroupVersion.parse(str(obj.get("apiVersion"))), str(obj.get("kind"))))
    if resource is None or "create" not in resource.verbs:
        return None
    namespace = (namespace_of(obj) or "default") if resource.namespaced else ""
    if namespace:
        ensure_namespace(server, namespace)
    if resource.kind == "Pod":
        _ensure_named(obj, namespace, server, known)
    target = f"{resource.collection(namespace)}?dryRun=All&fieldValidation=Strict"
    metadata = {name: value for name, value in (at(obj, "metadata") or {}).items() if name not in _OF_SERVERS}
    if not resource.namespaced:
        metadata.pop("namespace", None)
    return server.perform(Request.of("POST", target, {**obj, "metadata": metadata}), identity=administrator())


_OF_SERVERS: Final = ("uid", "resourceVersion", "managedFields", "selfLink", "creationTimestamp")


def ensure_namespace(server: Sandbox, namespace: str) -> None:
    """Create a namespace on a fork, where it is not there."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    server.perform(Request.of("POST", "/api/v1/namespaces", body), identity=administrator())


def _ensure_named(pod: Object, namespace: str, server: Sandbox, known: Catalogue) -> None:
    """Create what a pod names and admission looks up, where it is not there: a manifest says nothing of it."""
    for field, made in _LOOKED_UP.items():
        name = at(pod, "spec", field)
        resource = known.kind(GroupVersionKind(*group_version_of(made), made["kind"]))
        if isinstance(name, str) and name and resource is not None:
            body = {**made, "metadata": {"name": name}}
            server.perform(Request.of("POST", resource.collection(namespace), body), identity=administrator())


_LOOKED_UP: Final[Mapping[str, Object]] = {
    "serviceAccountName": {"apiVersion": "v1", "kind": "ServiceAccount"},
    "priorityClassName": {"apiVersion": f"{api_group('scheduling')}/v1", "kind": "PriorityClass", "value": 0},
    "runtimeClassName": {"apiVersion": f"{api_group('node')}/v1", "kind": "RuntimeClass", "handler": "any"},
}
"""The fields of a pod that name an object, and the object to make."""


__all__ = ["MigratedFile", "MigratedObject", "Migration", "create_on_trial", "ensure_namespace", "migrate", "refusal"]
