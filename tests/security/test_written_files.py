"""Files and patches that commands write where somebody else made the folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from simkit.analysis.upgrade.migration import migrate
from simkit.cli import main
from simkit.cli.testing import write_assets
from simkit.meta.errors import SimkitError

INGRESS = """\
apiVersion: extensions/v1beta1
kind: Ingress # first{end}# second
metadata: {{name: x}}
spec:
  rules:
  - http:
      paths:
      - path: /
        backend: {{serviceName: a, servicePort: 80}}
"""


@pytest.fixture
def ingress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A manifest in a repository of git, with a break in a comment that is no line feed."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "i.yaml"
    file.write_text(INGRESS.format(end=request.param), encoding="utf-8", newline="")
    subprocess.run(["git", "init", "-q", "."], check=True, timeout=60)
    return file


def applies(patch: str, folder: Path) -> bool:
    (folder / "p.diff").write_text(patch, encoding="utf-8", newline="")
    done = subprocess.run(["git", "apply", "p.diff"], cwd=folder, capture_output=True, timeout=60, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("ingress", ["\u2028", "\x85", "\r", "\r\n"], indirect=True)
def test_patches_know_one_end_of_a_line(ingress: Path) -> None:
    """Other breaks are letters of a line, as for git: the patch applies, and gives the migrated text."""
    found = migrate(ingress.name, "1.33")
    assert applies(found.patch(), ingress.parent)
    assert ingress.read_bytes().decode() == found.files[0].after


@pytest.mark.parametrize("ingress", ["\r\n"], indirect=True)
def test_a_printed_patch_of_a_file_from_windows_applies(ingress: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Carriage returns at the ends of lines are no danger to a terminal, and stay."""
    main(["migrate", "i.yaml", "--to", "1.33"])
    assert applies(capsys.readouterr().out, ingress.parent)


@pytest.mark.parametrize("ingress", ["\u2028"], indirect=True)
def test_a_printed_patch_that_is_not_as_it_should_be_says_so(ingress: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a terminal or a build log may not get is written out, which changes the patch."""
    main(["migrate", "i.yaml", "--to", "1.33"])
    told = capsys.readouterr()
    assert "\u2028" not in told.out
    assert "--output-dir" in told.err


@pytest.mark.parametrize("ingress", ["\n"], indirect=True)
def test_migrated_files_stay_in_their_folder(ingress: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link in the folder for the results leads no file out of it; links of sources stay links."""
    source, target, outside = ingress.parent / "source", ingress.parent / "target", ingress.parent / "outside"
    for folder in (source / "inner", target, outside):
        folder.mkdir(parents=True)
    text = ingress.read_text(encoding="utf-8")
    (source / "inner" / "i.yaml").write_text(text, encoding="utf-8")
    (source / "j.yaml").write_text(text, encoding="utf-8")
    (source / "link.yaml").symlink_to("j.yaml")
    (target / "inner").symlink_to(outside)
    assert main(["migrate", str(source), "--to", "1.33", "--output-dir", str(target)]) == 2
    assert "leads out of" in capsys.readouterr().err
    assert not list(outside.iterdir())
    main(["migrate", str(source), "--to", "1.33", "--in-place"])
    assert (source / "link.yaml").is_symlink()
    assert (source / "j.yaml").read_text(encoding="utf-8").startswith("apiVersion: networking.k8s.io/v1\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("redact", "--demo", "--to", "out.json"),
        ("audit", "--demo", "--json", "out.json"),
        ("audit", "--demo", "--html", "out.json"),
        ("audit", "--demo", "--write-baseline", "out.json"),
        ("exposure", "--demo", "--plot", "out.svg"),
        ("cut", "--demo", "--write", "out.json"),
    ],
)
def test_outputs_follow_no_link(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link in a checkout at the place of a report does not have the report written over another file."""
    monkeypatch.chdir(tmp_path)
    Path("precious").write_text("precious")
    Path(words[-1]).symlink_to("precious")
    assert main([*words]) in (0, 1), capsys.readouterr().err
    assert Path("precious").read_text() == "precious"
    assert Path(words[-1]).stat().st_size > 100


def test_dumps_are_private(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dump may hold secrets: only its owner can read it, whatever the process gives to new files."""
    target, before = tmp_path / "dump.yaml", os.umask(0)
    try:
        assert main(["redact", "--demo", "--to", str(target)]) == 0, capsys.readouterr().err
    finally:
        os.umask(before)
    assert target.stat().st_mode & 0o777 == 0o600


def test_executables_of_others_are_not_written_over(tmp_path: Path) -> None:
    """A real etcd stays, by its name and behind a link; those of simkit are made again."""
    real, folder = tmp_path / "real", tmp_path / "bin"
    real.write_text("#!/bin/true\n")
    folder.mkdir()
    (folder / "etcd").symlink_to(real)
    with pytest.raises(SimkitError, match="name another folder"):
        write_assets(folder)
    assert real.read_text() == "#!/bin/true\n"
    (folder / "etcd").unlink()
    assert write_assets(folder, "1.34") == write_assets(folder) == folder
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o755}
