"""The executables start as envtest starts them, and are well."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from simkit.cli import main, testing
from simkit.cli.testing import NAMES
from simkit.meta.free_port import free_port

pytestmark = pytest.mark.slow


def until_well(url: str) -> bytes:
    """The answer of a health check, as soon as the server answers."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    end = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, context=context if url.startswith("https") else None) as answer:
                found: bytes = answer.read()
                return found
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_envtest_can_start_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both answer health checks at the addresses that they are given, and end on a signal."""
    assert main(["testing", "assets", "--to", str(tmp_path / "bin")]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert sorted(each.name for each in folder.iterdir()) == sorted(NAMES)
    store, port = free_port(), free_port()
    etcd = [
        str(folder / "etcd"),
        f"--advertise-client-urls=http://127.0.0.1:{store}",
        f"--data-dir={tmp_path / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{store}",
        "--listen-peer-urls=http://localhost:0",
        "--unsafe-no-fsync=true",
    ]
    api_server = [
        str(folder / "kube-apiserver"),
        "--advertise-address=127.0.0.1",
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        "--bind-address=127.0.0.1",
        f"--cert-dir={tmp_path}",
        "--disable-admission-plugins=ServiceAccount",
        f"--etcd-servers=http://127.0.0.1:{store}",
        f"--secure-port={port}",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]
    with subprocess.Popen(etcd) as first, subprocess.Popen(api_server) as second:
        try:
            assert json.loads(until_well(f"http://127.0.0.1:{store}/health"))["health"] == "true"
            assert until_well(f"https://127.0.0.1:{port}/healthz") == b"ok"
        finally:
            first.terminate()
            second.terminate()
    assert (first.returncode, second.returncode) == (0, 0)


def test_old_envtest_can_start_them(tmp_path: Path) -> None:
    """It waits for a line of etcd, and asks at the insecure port whether the server is well."""
    folder = testing.write_assets(tmp_path / "bin", "1.19")
    store, insecure = free_port(), free_port()
    etcd = [str(folder / "etcd"), f"--listen-client-urls=http://127.0.0.1:{store}", "--debug"]
    api_server = [
        str(folder / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{store}",
        f"--cert-dir={tmp_path}",
        f"--insecure-port={insecure}",
        "--insecure-bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
    ]
    with subprocess.Popen(etcd, stderr=subprocess.PIPE, text=True) as first, subprocess.Popen(api_server) as second:
        try:
            assert first.stderr is not None
            assert f"serving insecure client requests on 127.0.0.1:{store}" in first.stderr.readline()
            assert until_well(f"http://127.0.0.1:{insecure}/healthz") == b"ok"
        finally:
            first.terminate()
            second.terminate()


def test_the_help_of_both_names_flags(capsys: pytest.CaptureFixture[str]) -> None:
    """envtest asks for the help first, and gives a flag only if it finds it at the start of a line."""
    assert testing.main(["etcd", "--help"]) == 0
    assert re.search(r"(?m)^\s*--unsafe-no-fsync\b", capsys.readouterr().out)
    assert testing.main(["kube-apiserver", "--help"]) == 0
    assert re.search(r"(?m)^\s*--secure-port\b", capsys.readouterr().out)
