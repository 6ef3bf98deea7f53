"""The pinned packages: downloaded once into a folder, read without being installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

HERE = Path(__file__).resolve().parent
_SCHEMAS: Final = re.compile(r"/v(1\.\d+)\.0-local/_definitions\.json$")
_CLASS: Final = re.compile(r"^class \w+\(res\.(\w+).*?_api_info = res\.ApiInfo\((.*?)^    \)", re.MULTILINE | re.DOTALL)
_DEFINED: Final = re.compile(r"(resource|parent)=res\.ResourceDef\('([^']*)', '([^']*)', '([^']*)'\)")
_PLURAL: Final = re.compile(r"plural='([^']*)'")
_ACTION: Final = re.compile(r"action='([^']*)'")
_VERBS: Final = re.compile(r"verbs=\[([^\]]*)\]")

Definitions = Mapping[str, Mapping[str, Any]]


def pins() -> list[tuple[str, str]]:
    """Name and version of every pinned package."""
    lines = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("==")) for line in lines if "==" in line and not line.startswith("#")]  # type: ignore[misc]


def fetch(folder: Path) -> None:
    """Download what is not in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, version in pins():
        if not list(folder.glob(f"{name.replace('-', '[-_]')}-{version}[.-]*")):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
            subprocess.run([*command, f"{name}=={version}"], check=True)


def schemas(folder: Path) -> dict[str, Definitions]:
    """The JSON schema definitions by release. An older edition's are replaced by a newer one's."""
    found: dict[str, Definitions] = {}
    for archive in sorted(folder.glob("kubernetes[-_]validate-*")):
        for name, content in _members(archive, _SCHEMAS):
            table = orjson.loads(content)
            found[name] = table.get("definitions") or table["$defs"]
    return found


def _members(archive: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                match = wanted.search(name)
                if match:
                    yield match.group(1), wheel.read(name)
        return
    with tarfile.open(archive) as source:
        for member in source:
            match = wanted.search(member.name)
            file = source.extractfile(member) if match else None
            if match and file:
                yield match.group(1), file.read()


class Route(NamedTuple):
    """One path family of a release: a resource, or (``action``) a subresource of it."""

    group: str
    version: str
    plural: str
    action: str
    kind: tuple[str, str, str]
    namespaced: bool
    verbs: tuple[str, ...]


def routes(folder: Path) -> dict[str, list[Route]]:
    """Everything that a release routes, from the client models made of its paths."""
    found = {}
    for archive in sorted(folder.glob("lightkube_models-*")):
        release = ".".join(archive.name.split("-")[1].split(".")[:2])
        with zipfile.ZipFile(archive) as wheel:
            texts = [wheel.read(name).decode() for name in sorted(wheel.namelist()) if "/resources/" in name]
        found[release] = [route for text in texts for route in _routes(text)]
    return found


def _routes(text: str) -> Iterator[Route]:
    for base, body in _CLASS.findall(text):
        defined = {role: (group, version, kind) for role, group, version, kind in _DEFINED.findall(body)}
        plural, verbs, action = _PLURAL.search(body), _VERBS.search(body), _ACTION.search(body)
        assert plural is not None
        assert verbs is not None
        group, version, _ = defined.get("parent", defined["resource"])
        words = tuple(word.strip(" '") for word in verbs.group(1).split(","))
        name = action.group(1) if action else ""
        yield Route(group, version, plural.group(1), name, defined["resource"], base.startswith("Namespaced"), words)
