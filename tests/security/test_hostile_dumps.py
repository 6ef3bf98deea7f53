"""Dumps made by somebody who means harm: what is wrong is reported with its place, the rest is read."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.cli import main
from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request
from simkit.snapshot.load import load
from simkit.snapshot.unpacking import Limits

GOOD = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"good"}}'
BOMB = gzip.compress(b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"' + b"x" * (80 << 20) + b'"}}')


def nested(times: int) -> bytes:
    content = GOOD
    for _ in range(times):
        content = gzip.compress(content)
    return content


def archive(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return made.getvalue()


def config(value: bytes) -> bytes:
    return b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t","namespace":"a"},"spec":%s}' % value


def sparse(size: int) -> bytes:
    """An archive of 2 KB with a member of zeros (GNU format) that takes no room in it."""
    info = tarfile.TarInfo("zeros.json")
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:398] = header[398:410] = b"%011o\0" % 0
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + archive(("a.json", b"{}"))


def announced(times: int) -> bytes:
    """An archive in which a header announces the long name of a header that announces one, and so on."""
    info = tarfile.TarInfo("a" * 200)
    return info.tobuf(tarfile.GNU_FORMAT)[:1024] * times + archive(("a.json", b"{}"))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("bomb.json.gz", BOMB, "unpacks to more than"),
        ("nested.gz", nested(1500), "packed more than 3 times"),
        ("bomb.tar", archive(("a/bomb.gz", BOMB)), "unpacks to more than"),
        ("digits.json", config(b'{"a":%s}' % (b"9" * 10_000)), "not JSON"),
        ("digits.yaml", b"apiVersion: v1\nkind: Thing\nmetadata: {name: a, generation: " + b"9" * 10_000 + b"}", "not YAML"),
        ("deep.json", config(b"[" * 900 + b"]" * 900), "nests too deeply"),
        ("deeper.json", config(b"[" * 200_000), "not JSON"),
        ("flow.yaml", b"a: " + b"[" * 200_000, "not YAML"),
        ("rules.json", b'{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"},'
         b'"rules":[5,"text"]}', "rules[0] is a number"),
        ("cut.tar", archive(("a.json", b"{}" * 4000))[:700], "damaged"),
        ("sparse.tar", sparse(3 << 30), "unpacks to more than"),
        ("announced.tar", announced(20), "damaged"),
        ("announced_often.tar", announced(3000), "damaged"),
        ("size.tar", archive(("a.json", b"{}")).replace(b"00000000002\0", b"77777777777\0"), "damaged"),
    ],
)  # fmt: skip
def test_unreadable_objects_are_reported_and_the_rest_is_read(
    name: str, content: bytes, told: str, tmp_path: Path
) -> None:
    """The file is named, its neighbour counts, and a cluster of the dump can be listed."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.json").write_bytes(GOOD)
    dump = load(tmp_path)
    problems = [problem for problem in dump.problems if name in problem.file and told in problem.what]
    assert problems, dump.problems
    assert all(len(problem.what) < 600 for problem in problems)
    listed = Cluster.of(dump).perform(Request.of("GET", "/api/v1/namespaces"))
    assert [each["metadata"]["name"] for each in listed.object["items"]] == ["good"]


@pytest.mark.slow
def test_limits_can_be_raised() -> None:
    """Whoever trusts a source says how much it may be."""
    small = gzip.compress(GOOD + b" " * (70 << 20))
    assert len(load(small)) == 0
    assert len(load(small, limits=Limits(ratio=2000))) == 1
    assert len(load(nested(5), limits=Limits(nesting=5))) == 1
    assert len(load(nested(1), limits=Limits(unpacked_bytes=10))) == 0


def test_archives_share_one_limit() -> None:
    """Many small bombs are one big one."""
    packed = archive(*((f"{at}.json.gz", gzip.compress(GOOD)) for at in range(4)))
    assert len(load(packed, limits=Limits(unpacked_bytes=2000)).problems) >= 1


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    """A folder of somebody else's shows nothing of this machine; links within it count."""
    secret, folder = tmp_path / "secret.json", tmp_path / "dump"
    secret.write_bytes(GOOD)
    folder.mkdir()
    (folder / "out.json").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    (folder / "real.json").write_bytes(GOOD.replace(b"good", b"real"))
    (folder / "again.json").symlink_to(folder / "real.json")
    dump = load(folder)
    assert [key.name for key in dump.origins] == ["real"]
    assert [problem.file for problem in dump.lost] == [str(folder / name) for name in ("up", "out.json")]


def test_hidden_files_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kubectl applies a hidden file of a folder, so it is read if it may hold objects; hidden folders are told of."""
    folder = tmp_path / "deploy"
    for name in (".evil.yaml", ".venv/a.yaml", ".git/refs/heads/a.yaml", ".gitlab-ci.yml", "_.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"stages: [a]" if name == ".gitlab-ci.yml" else GOOD.replace(b"good", b"x"))
    (folder / "_.yaml").write_bytes(GOOD)
    dump = load(folder)
    assert sorted(key.name for key in dump.keyed) == ["good", "x"]
    assert [str(one) for one in dump.warnings] == [
        f"{folder}: files in hidden folders were not read (.venv); name such a folder itself to have it read"
    ]
    (tmp_path / "dump.yaml").write_bytes(GOOD)
    (folder / "k").mkdir()
    (folder / "k" / "Chart.yaml").write_text("name: k\n")  # what is rendered has its files found in another way
    (folder / "a.yaml").symlink_to(tmp_path / "dump.yaml")
    assert main(["plan", str(tmp_path / "dump.yaml"), "-f", str(folder)]) == 1
    assert "a link that leads out of the folder" in capsys.readouterr().err


def test_names_of_files_that_are_not_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that are no UTF-8 are written out in every report, those of archives too."""
    (tmp_path / os.fsdecode(b"a\xff.json")).write_bytes(b"{")
    (tmp_path / "b.tar").write_bytes(archive(("c\udcfe.json", b"{")))
    (tmp_path / "good.json").write_bytes(GOOD)
    assert sorted(problem.file for problem in load(tmp_path).lost) == [
        str(tmp_path / "a\\xff.json"),
        str(tmp_path / "b.tar" / "c\\xfe.json"),
    ]
    for command in (["upgrade", str(tmp_path), "--to", "1.33"], ["migrate", str(tmp_path), "--to", "1.33"]):
        assert main(command) in (0, 1, 2)
        assert "please report" not in capsys.readouterr().err


def test_what_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of somebody else was left out without a word, and a file of theirs ended the reading of all others."""
    for name in ("a", "closed", "untold"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_bytes(GOOD.replace(b"good", name.encode()))
    (tmp_path / "good.json").write_bytes(GOOD)
    (tmp_path / "theirs.json").write_bytes(GOOD)
    closed = {"scandir": "closed", "lstat": "untold/x.json", "read_bytes": "theirs.json"}
    scandir, lstat, read_bytes = os.scandir, Path.lstat, Path.read_bytes

    def checked(path: Any, what: str) -> Any:
        if str(path) == str(tmp_path / closed[what]):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return path

    monkeypatch.setattr(os, "scandir", lambda path: scandir(checked(path, "scandir")))
    monkeypatch.setattr(Path, "lstat", lambda path: lstat(checked(path, "lstat")))
    monkeypatch.setattr(Path, "read_bytes", lambda path: read_bytes(checked(path, "read_bytes")))
    found = load(tmp_path)
    assert sorted(key.name for key in found.keyed) == ["a", "good"]
    assert sorted(problem.file for problem in found.lost) == sorted(str(tmp_path / name) for name in closed.values())


def test_a_path_with_a_line_break_is_no_text(tmp_path: Path) -> None:
    """Where there is such a file, it is read."""
    (tmp_path / "a\nb.json").write_bytes(GOOD)
    assert [key.name for key in load(str(tmp_path / "a\nb.json")).keyed] == ["good"]


@pytest.mark.parametrize("levels", [240, 300, 1000, 2000, 50_000])
@pytest.mark.parametrize("brackets", ['{"a":', "["])
def test_one_object_that_nests_too_deeply(tmp_path: Path, levels: int, brackets: str) -> None:
    """It is told with its place and left out; what stands before and behind it is read."""
    closing = {"{": "}", "[": "]"}[brackets[0]]
    deep = brackets * levels + "1" + closing * levels
    first, last = (
        json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "a"}})
        for name in "xy"
    )
    odd = '{"apiVersion":"e.io/v1","kind":"X","metadata":{"name":"deep","namespace":"a"},"spec":' + deep + "}"
    file = tmp_path / "dump.json"
    file.write_text(f'{{"kind":"List","apiVersion":"v1","items":[\n{first},\n{odd},\n{last}]}}')
    loaded = simkit.load(file)
    assert [each["metadata"]["name"] for each in loaded.list("configmaps", "a")] == ["x", "y"]
    assert loaded.dump is not None
    (told,) = loaded.dump.lost  # and nothing else
    assert (told.file, told.line, "nests too deeply" in told.what) == (str(file), told.line, True)
    assert told.line in (1, 3)


@pytest.mark.slow
def test_limits_can_be_raised_wherever_a_source_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By ``simkit.load`` and on the command line, in the words that the report proposes."""
    small = tmp_path / "small.json.gz"
    small.write_bytes(gzip.compress(GOOD + b" " * (70 << 20)))
    assert len(simkit.load(small, limits=simkit.Limits(ratio=2000)).list("namespaces")) == 1
    command = ["who-can", "get", "secrets", "--complete", "*", "--dump", str(small)]
    assert main(command) == 2
    assert "--unpack bytes=64Gi,ratio=1000" in capsys.readouterr().err
    assert main([*command, "--unpack", "bytes=1Gi,ratio=2000"]) in (0, 1)
    for wrong in ("ratio=x", "much=3", "ratio"):
        assert main([*command, "--unpack", wrong]) == 2
        assert "write it like bytes=64Gi,ratio=1000" in capsys.readouterr().err
