"""Manifests of a command, and as they are in an earlier revision of their repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from simkit.cli.notes import note
from simkit.cli.source import standard_input
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.snapshot.dump import Dump

_SECONDS: Final = 60


def read_manifests(paths: Sequence[str], *, release: str, namespace: str) -> Dump:
    """The manifests of some paths; a kustomization or a chart is rendered by the program of its project.

    Raises
    ------
    SimkitError
        For what cannot be read or rendered.
    """
    from simkit.analysis.manifest_plan import folders

    given = [standard_input().read() if path == "-" else path for path in paths]
    return folders.read_manifests(given, release, namespace=namespace, told=note)


def read_earlier(paths: Sequence[str], revision: str, *, release: str, namespace: str) -> Dump:
    """The manifests of some paths as they are in another revision of their repository, with the files of this one.

    Raises
    ------
    SimkitError
        For paths outside of a repository, and for a revision that git does not know.
    """
    from simkit.analysis.manifest_plan.folders import placed, repository_of

    with tempfile.TemporaryDirectory() as folder:
        copies: dict[Path, Path] = {}
        found: dict[str, str] = {}
        for path in paths:
            place = Path(path).resolve()
            root = repository_of(place)
            if path == "-" or root is None:
                raise SimkitError(f"{path} is in no git repository, so it has no state at {revision}")
            if root not in copies:
                copies[root] = Path(folder) / str(len(copies))
                _unpack(root, revision, copies[root])
            earlier = copies[root] / place.relative_to(root)
            if earlier.exists():
                found[str(earlier)] = path
            else:
                note(f"{revision} has no {path}, so all of its objects count as new")
        dump = read_manifests(list(found), release=release, namespace=namespace)

    def as_given(file: str, line: int | None) -> tuple[str, int | None]:
        copy = next((copy for copy in found if Path(file).is_relative_to(copy)), None)
        return (str(Path(found[copy]) / Path(file).relative_to(copy)) if copy else file), line

    return placed(dump, as_given)


def _unpack(root: Path, revision: str, into: Path) -> None:
    """Write the files of a revision into a folder, as they are in the repository, which is not changed.

    The files are written by a git directory of their own, so that no program runs that the configuration of the
    repository or of the user names (filters, file system monitors, hooks). ``git archive`` would leave out files with
    the attribute ``export-ignore``.
    """
    into.mkdir()
    try:
        commit = _git(root, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except SimkitError:
        hint = "name a branch, a tag or a commit, and fetch it first if the clone is shallow"
        raise SimkitError(f"git knows no revision {revision!r}; {hint}") from None
    form = _git(root, "rev-parse", "--show-object-format").decode().strip()
    objects = root / os.fsdecode(_git(root, "rev-parse", "--git-path", "objects").removesuffix(b"\n"))
    own = Path(f"{into}.git")
    _git(into, "init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(own))
    (own / "objects" / "info" / "alternates").write_bytes(os.fsencode(objects.resolve()) + b"\n")
    apart = {
        "GIT_DIR": str(own),
        "GIT_WORK_TREE": str(into),
        "GIT_INDEX_FILE": str(own / "index"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    _git(into, "read-tree", commit.decode().strip(), **apart)
    _git(into, "checkout-index", "--all", **apart)


def _git(folder: Path, *words: str, **environment: str) -> bytes:
    """What git writes. Objects that are missing from the repository are not fetched."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), *words],  # noqa: S607
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "GIT_ALLOW_PROTOCOL": "none", **environment},
        )
    except FileNotFoundError:
        raise SimkitError("git is not installed; leave out --against, or install git") from None
    except subprocess.TimeoutExpired:
        raise SimkitError(f"git did not answer within {_SECONDS} seconds") from None
    if done.returncode:
        raise SimkitError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()[:500]}")
    return done.stdout
