"""Every block of code in README.md runs, against the demo cluster."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib as mpl
import pytest

import simkit
from simkit.cli import COMMANDS
from simkit.meta.free_port import free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(python|sh)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
SHELL = [text for language, text in BLOCKS if language == "sh"]
FOUND = ("simkit audit dump.json", "simkit escalations dump.json --goal cluster-admin --prove")
"""Commands whose exit code 1 says that there is something to look at."""
SET_UP = ("pip ", "jupyter ")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """A folder, and an environment with the command and a kubeconfig of the served demo cluster."""
    folder = tmp_path_factory.mktemp("readme")
    binaries = folder / "bin"
    binaries.mkdir()
    command = binaries / "simkit"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m simkit "$@"\n')
    command.chmod(0o755)
    server = simkit.demo().serve(kubeconfig=folder / "config")
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    yield folder, {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(folder / "config")}
    server.stop()


def test_all_blocks_are_known() -> None:
    """Blocks are Python or shell; what sets things up is looked at apart."""
    assert README.count("```") == 2 * len(BLOCKS)
    assert len(PYTHON) >= 2
    assert len(SHELL) >= 6


def test_the_shell_commands_and_then_the_python_code_run(
    place: tuple[Path, Mapping[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump is made of the served demo cluster, and questions are asked of it, from the shell and from Python."""
    pytest.importorskip("kubernetes.config", reason="the official client is an extra")
    folder, environment = place
    for line in _lines():
        if line.startswith("simkit ") and not line.startswith("simkit serve"):
            done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == (1 if line in FOUND else 0), (line, done.stderr)
            assert done.stdout or "objects" in done.stderr, line
    assert (folder / "simkit-notebooks/01-rbac-audit.ipynb").is_file()
    monkeypatch.chdir(folder)
    mpl.use("agg")
    names: dict[str, object] = {}
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), names)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_talks_to_the_server(place: tuple[Path, Mapping[str, str]]) -> None:
    """The server starts as written, kubectl makes a deployment, and its pod stays Pending."""
    folder, environment = place
    (serve,) = [line for line in _lines() if line.startswith("simkit serve")]
    words = [sys.executable, "-m", *serve.split(), "--secure-port", str(free_port())]
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert "is ready" in server.stdout.readline()
        try:
            answers = [_told(line, folder, environment) for line in _lines() if line.startswith("kubectl ")]
            deadline = time.monotonic() + 20
            while "Pending" not in answers[-1] and time.monotonic() < deadline:
                answers.append(_told("kubectl --kubeconfig kubeconfig get pods -n shop", folder, environment))
            assert "Pending" in answers[-1]
        finally:
            server.terminate()
            server.wait(20)


def test_setup_commands_exist() -> None:
    """The extras, the targets of make and the notebooks that README names exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = set(project["project"]["optional-dependencies"])
    assert set(re.findall(r"simkit\[(\w+)\]", README)) <= extras
    assert {"all", "live", "serve", "notebook", "testing"} <= extras
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`", README)) <= targets
    rest = [line for line in _lines() if not line.startswith(("simkit ", "kubectl ", *SET_UP))]
    assert rest == []


def test_the_links_lead_somewhere() -> None:
    """Every relative link is a file, and the picture is small."""
    for link in re.findall(r"(?:\]\(|src=\"|srcset=\")([^)#\"]+)[)\"]", README):
        assert "://" in link or (ROOT / link).exists(), link
    assert (ROOT / "docs/pictures/escalations.png").stat().st_size < 100_000


def test_every_command_is_named() -> None:
    """The table of commands is complete."""
    assert [command.name for command in COMMANDS if f"`simkit {command.name}`" not in README] == []


def _lines() -> list[str]:
    return [line for block in SHELL for line in block.splitlines() if line]


def _told(line: str, folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout
