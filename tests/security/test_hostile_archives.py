"""Archives that were made to harm: as dumps, in simulated containers, and as releases of charts."""

from __future__ import annotations

import base64
import gzip
import tarfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.analysis.manifest_plan import folders
from simkit.analysis.upgrade.items import chart_release
from simkit.simulation.shell.files import FileError
from simkit.simulation.shell.user_files import UserFiles, unpack
from simkit.snapshot.load import load

END = b"\0" * 1024


def member(name: str, kind: bytes = b"0", content: bytes = b"", *, size: int | None = None, link: str = "") -> bytes:
    head = tarfile.TarInfo(name)
    head.type, head.linkname, head.size = kind, link, len(content) if size is None else size
    return head.tobuf(tarfile.USTAR_FORMAT) + content + b"\0" * (-len(content) % 512)


def extended(content: bytes) -> bytes:
    return member("x", b"x", content)


DAMAGED = {
    "heads that announce heads": member("x", b"L", b"a" * 10) * 5000,
    "extended heads that announce heads": extended(b"9 path=a\n") * 5000,
    "a length beyond the machine's": extended(b"99999999999999999999 path=a\n") + member("a"),
    "a size beyond the machine's": extended(b"30 size=99999999999999999999\n") + member("a"),
    "a sparse file without a map": extended(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n")
    + member("a", content=b"9999999\n" + b"\0" * 504),
    "a negative size": member("a")[:124] + b"\xff" * 12 + member("a")[136:],
    "a device whose link leads to itself": member("sl", b"2", link="sl") + member("sl/x", content=b"a"),
    "no archive": b"abc",
    "no archive, compressed": gzip.compress(b"abc"),
    "broken gzip": b"\x1f\x8b" + b"\xff" * 100,
    "broken bzip2": b"BZh9" + b"\xff" * 100,
    "broken xz": b"\xfd7zXZ\0" + b"\xff" * 100,
    "a path of a megabyte": extended(b"1048592 path=" + b"a" * (1048592 - 14) + b"\n") + member("a"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_archive_in_a_container_is_refused(name: str) -> None:
    """As ``tar`` refuses it; it is no error of ours."""
    with pytest.raises(FileError):
        unpack(UserFiles(), DAMAGED[name] + END, "/work")


def test_an_archive_stays_in_its_tree() -> None:
    """Names that lead up end at the root of the container, and devices are no files."""
    files = UserFiles()
    unpack(files, member("../../../etc/x", content=b"a") + member("/abs") + member("d", b"3") + END, "/work")
    assert files.read("/etc/x") == b"a"
    assert files.is_file("/abs")
    assert not files.exists("/work/d")


def test_files_of_one_name_and_links_in_a_dump_are_told() -> None:
    """None is left out silently: the later of two files with one path counts, as if the archive were unpacked."""

    def made(*names: str) -> bytes:
        objects = ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{at}"}} for at in range(9))
        return b"".join(member(name, content=orjson.dumps(obj)) for name, obj in zip(names, objects))

    loaded = load(made("x.json", "../x.json", "./y.json", "/z.json") + member("l.json", b"2", link="y.json") + END)
    assert sorted(key.name for key in loaded.keyed) == ["n1", "n2", "n3"]
    told = [str(problem) for problem in loaded.problems]
    assert [("already" in text, "a link" in text) for text in told] == [(True, False), (False, True)]
    assert len(loaded.lost) == 2


def release(content: bytes) -> dict[str, Any]:
    labels = {"owner": "helm", "status": "deployed", "name": "shop"}
    data = {"release": base64.b64encode(gzip.compress(content)).decode()}
    return {"kind": "ConfigMap", "metadata": {"name": "shop.v1", "labels": labels}, "data": data}


def test_a_release_of_a_chart_unpacks_to_so_many_times_its_size() -> None:
    """Otherwise a hundred releases of some KB each would be gigabytes of manifests to parse."""
    plain = orjson.dumps({"name": "shop", "namespace": "web", "manifest": "kind: Pod\n" * 50_000})
    found = chart_release(release(plain))
    assert found is not None
    assert found.manifest
    bomb = orjson.dumps({"name": "shop", "namespace": "web", "manifest": " " * (8 << 20)})
    found = chart_release(release(bomb))
    assert found is not None
    assert "unpacks to more than" in found.unread


def test_the_name_of_a_folder_is_no_flag_of_helm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chart in a folder that is called like the flag for a program to run does not have it run."""
    tool, chart = tmp_path / "helm", tmp_path / "--post-renderer=evil"
    chart.mkdir()
    tool.write_text('#!/bin/sh\nfor word in "$@"; do echo "# $word"; done\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    words = str(folders.rendered(str(chart), "1.30").content).splitlines()
    assert words.index("# --") < words.index("# --post-renderer=evil")
    assert [word for word in words[words.index("# --") :] if "kube-version" in word] == []
    assert capsys.readouterr().out == ""
