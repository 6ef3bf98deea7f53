"""Cached dumps: the same as dumps that are read, never with values of secrets, and ignored if others may have written them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import orjson
import pytest

from simkit.cli import main
from simkit.engine.http.certificates import default_folder
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.snapshot import dump_cache
from simkit.snapshot.dump import Dump
from simkit.snapshot.dump_cache import load_cached
from simkit.snapshot.load import load

SECRET = "c3dvcmRmaXNo"


def _objects(count: int) -> list[dict[str, Any]]:
    text = "x" * 600
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{at}", "uid": "1"}, "data": {"text": text}}
        for at in range(count)
    ]
    names = {"plural": "walls", "kind": "Wall", "singular": "wall"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [{"name": "v1", "storage": True}]}
    return [
        *maps,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}, "data": {"k": SECRET}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}, "spec": {"containers": "none"}},
        {"apiVersion": "example.com/v1", "kind": "Wall", "metadata": {"name": "w"}},
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "walls.example.com"},
            "spec": spec,
        },
    ]


def _written(path: Path, objects: list[dict[str, Any]]) -> Path:
    path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def dump_file(tmp_path: Path) -> Path:
    """A dump that is large enough to be cached."""
    return _written(tmp_path / "dump.json", _objects(200))


def _told(dump: Dump) -> dict[str, Any]:
    """Everything that a dump says."""
    return {
        "keyed": list(dump.keyed.items()),
        "captured": dump.captured,
        "problems": list(dump.problems),
        "origins": dict(dump.origins),
        "withheld": dump.withheld,
        "release": (dump.release, dump.server_release),
        "authorization": dump.authorization,
        "counts": dump.counts,
        "walls": dump.index.mapping("example.com/v1", "Wall"),
    }


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*")) if folder.exists() else []


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"release": "1.33"},
    {"captured": ["*"]},
    {"namespace": "b"},
    {"authorization_mode": ["RBAC", "Node"]},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_cached_dump_says_what_a_read_one_says(folder: Path, dump_file: Path, options: dict[str, Any]) -> None:
    """Objects, what was captured, problems, origins, release and authorizers are the same, whatever the options."""
    for other in OPTIONS:
        load_cached([str(dump_file)], **other)
    assert len(_files(folder)) == len(OPTIONS)
    assert _told(load_cached([str(dump_file)], **options)) == _told(load([str(dump_file)], **options))


def test_the_demo_cluster_and_folders_are_cached(folder: Path, tmp_path: Path) -> None:
    """A folder with a changed file is read again; what is cached of it is the same as what is read."""
    demo = str(datasets.path(datasets.DEMO))
    assert _told(load_cached([demo])) == _told(load_cached([demo])) == _told(load([demo]))
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    _written(dumps / "a.json", _objects(150))
    assert len(load_cached([str(dumps)])) == len(load_cached([str(dumps)])) == len(load([str(dumps)]))
    _written(dumps / "b.json", _objects(160)[150:160])
    assert _told(load_cached([str(dumps)])) == _told(load([str(dumps)]))


def test_the_second_time_nothing_is_parsed(folder: Path, dump_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cached dump is not read from its files again, except without the cache."""
    first = load_cached([str(dump_file)])
    monkeypatch.setattr("simkit.snapshot.load.load", lambda *_, **__: pytest.fail("read again"))
    assert _told(load_cached([str(dump_file)])) == _told(first)
    with pytest.raises(pytest.fail.Exception):
        load_cached([str(dump_file)], use_cache=False)


def test_values_of_secrets_are_never_written(folder: Path, dump_file: Path) -> None:
    """Neither the cache of a dump without them holds them, nor is a dump with them cached."""
    kept = load_cached([str(dump_file)], secrets=True)
    assert not _files(folder)
    assert SECRET in str(list(kept))
    assert SECRET not in str(list(load_cached([str(dump_file)])))
    (file,) = _files(folder)
    assert SECRET not in str(_unpacked(file))


def _unpacked(file: Path) -> Any:
    import zlib

    return orjson.loads(zlib.decompress(file.read_bytes()[32:]))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def _changed(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _emptied(file: Path) -> None:
    file.write_bytes(b"")


def _opened_to_others(file: Path) -> None:
    file.chmod(0o666)


def _in_a_folder_of_others(file: Path) -> None:
    file.parent.chmod(0o777)


def _linked(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


def _made_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    "damage",
    [_cut, _changed, _emptied, _opened_to_others, _in_a_folder_of_others, _linked, _made_a_folder],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_or_foreign_cache_is_ignored(folder: Path, dump_file: Path, damage: Callable[[Path], None]) -> None:
    """The dump is read from its files, without a word."""
    load_cached([str(dump_file)])
    (file,) = _files(folder)
    damage(file)
    assert dump_cache._read(file, {}) is None
    assert _told(load_cached([str(dump_file)])) == _told(load([str(dump_file)]))


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, dump_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only home does not keep anybody from an answer."""
    monkeypatch.setenv("SIMKIT_CACHE", str(dump_file / "below-a-file"))
    assert len(load_cached([str(dump_file)])) == len(load([str(dump_file)]))


def test_small_sources_and_open_files_are_not_cached(folder: Path, tmp_path: Path, dump_file: Path) -> None:
    """What is read in no time, or has no name, leaves nothing behind."""
    load_cached([str(_written(tmp_path / "small.json", _objects(3)))])
    with dump_file.open("rb") as stream:
        load_cached([stream])
    assert not _files(folder)


def test_folders_with_links_are_not_cached(folder: Path, tmp_path: Path, dump_file: Path) -> None:
    """A link may lead to a file without an end; it is not followed to see whether the dump is cached."""
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    _written(dumps / "a.json", _objects(200))
    (dumps / "b.json").symlink_to(dump_file)
    assert _told(load_cached([str(dumps)])) == _told(load([str(dumps)]))
    assert not _files(folder)


def test_files_that_change_while_they_are_read_are_not_cached(
    folder: Path, dump_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the new objects would answer for the old content."""

    def load_changed(*sources: Any, **options: Any) -> Dump:
        _written(dump_file, _objects(300))
        return load(*sources, **options)

    monkeypatch.setattr("simkit.snapshot.load.load", load_changed)
    load_cached([str(dump_file)])
    assert not _files(folder)


def test_the_oldest_are_removed(folder: Path, dump_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cached dumps together keep within their room; the ones used last stay."""
    names = _cached_at(folder, dump_file, range(4))
    monkeypatch.setattr(dump_cache, "ROOM", 3 * names[0].stat().st_size)
    load_cached([str(dump_file)], namespace="n0")  # used again, and so the youngest
    load_cached([str(dump_file)], namespace="n4")
    assert names[0] in _files(folder)
    assert len(_files(folder)) <= 3


def _cached_at(folder: Path, dump_file: Path, times: range) -> list[Path]:
    """The files of dumps that were cached one after the other."""

    def made() -> Iterator[Path]:
        known: set[Path] = set()
        for at in times:
            load_cached([str(dump_file)], namespace=f"n{at}")
            (file,) = set(_files(folder)) - known
            os.utime(file, (at, at))
            known.add(file)
            yield file

    return list(made())


def test_no_cache_leaves_nothing(folder: Path, dump_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--no-cache`` the command answers the same, and neither reads nor writes a cached dump."""
    command = ["who-can", "get", "secrets", str(dump_file), "--complete", "*"]
    answers = [(main([*command, "--no-cache"]), capsys.readouterr().out)]
    assert not _files(folder)
    answers += [(main(command), capsys.readouterr().out) for _ in range(2)]
    assert len(_files(folder)) == 1
    assert answers[0] == answers[1] == answers[2]


def test_a_user_without_a_home(folder: Path, dump_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers, whose users are in no table: nothing is cached, and other users' homes are not known."""
    monkeypatch.delenv("SIMKIT_CACHE")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError("Could not determine home directory.")))
    assert load_cached([str(dump_file)]).keyed
    with pytest.raises(SimkitError, match="there is nothing to load at ~nobody-there"):
        load_cached(["~nobody-there/dump.json"])
    with pytest.raises(SimkitError, match="no home folder"):
        default_folder()
