"""Build the playground, a folder of static files: ``python -m tools.playground``. It needs node, npm and pip."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.metadata import files, version
from pathlib import Path
from typing import Any, Final

import yaml

from simkit.cluster.report.page import part
from simkit.present.design import MARK, MARK_ON_PAPER
from simkit.present.path_graph import graph_page_script, graph_script, graph_styles

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
TARGET: Final = ROOT / "build/playground"
LIBRARIES: Final = (
    *("PyYAML", "Jinja2", "MarkupSafe", "lark", "cel-python", "PyJWT", "ecdsa", "six"),
    *("pydantic", "typing-extensions", "typing-inspection", "annotated-types"),
)
"""What the page has of the environment: modules in Python, which need no build for a browser."""
COMPILED: Final = "pydantic-core"
"""What is built for browsers by its makers, and downloaded."""
PLATFORM: Final = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "314", "--abi", "cp314")
PYTHON: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json")
LIBRARY: Final = "pyodide/python_stdlib.zip"
"""Python's standard library, which comes as source: compiled, Python starts in a third of the time."""
UNUSED: Final = ("_pyrepl/", "ensurepip/", "idlelib/", "pydoc_data/", "turtledemo/", "unittest/", "xmlrpc/")
"""Parts of the standard library that no question of the page needs."""
LEFT_OUT: Final = (
    *("simkit/cli/", "simkit/fleet/", "simkit/notebook/", "simkit/simulation/", "simkit/testing/"),
    "datasets/clusters/hostile",
)
"""Parts that need what a browser's Python does not have, and those that no question of the page needs."""


def main() -> int:
    """Build, and say how large the site is."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    install_modules()
    (TARGET / "pyodide").mkdir()
    for name in PYTHON:
        shutil.copyfile(HERE / "node_modules/pyodide" / name, TARGET / "pyodide" / name)
    with tempfile.TemporaryDirectory() as scratch:
        packs = Path(scratch)
        for name, members in packed_files(packs / "wheels").items():
            stage(packs / name, members)
        with zipfile.ZipFile(HERE / "node_modules" / LIBRARY) as library:
            library.extractall(packs / LIBRARY)
        for name, level in (("first.zip", "0"), ("rest.zip", "0"), (LIBRARY, "2")):
            run("node", "compile.mjs", str(packs / name), level, folder=HERE)
            pack(packs / name, TARGET / name)
        write_licences(packs / "rest.zip")
    write_page()
    whole = sum(path.stat().st_size for path in TARGET.rglob("*") if path.is_file())
    print(f"the playground is in {TARGET.relative_to(ROOT)}: {whole / 1e6:.1f} MB")
    return 0


def install_modules() -> None:
    """Install what npm has locked, unless it is there. Both sites are built of it, perhaps at once."""
    demand("npm")
    wanted, installed = HERE / "package-lock.json", HERE / "node_modules/.package-lock.json"
    with (HERE / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
            run("npm", "ci", "--ignore-scripts", "--silent", folder=HERE)


def demand(program: str) -> None:
    """End the build without a program that it needs."""
    if shutil.which(program) is None:
        raise SystemExit(f"there is no {program}; the playground needs node, npm and pip")


def run(*command: str, folder: Path = ROOT) -> str:
    """What a command wrote. It ends the build if it fails."""
    demand(command[0])
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}; the playground needs node, npm and pip")
    return done.stdout


def packed_files(wheels: Path) -> dict[str, dict[str, Path]]:
    """The files of both archives by the name in them: what the first answer needs, and everything else."""
    first = set(json.loads(run(sys.executable, "-m", "tools.playground.first")))
    every = {**own_files(), **library_files(), **wheel_files(wheels)}
    return {
        "first.zip": {name: path for name, path in every.items() if str(path) in first},
        "rest.zip": {
            name: path for name, path in every.items() if str(path) not in first and not name.startswith(LEFT_OUT)
        },
    }


def own_files() -> dict[str, Path]:
    """The files of simkit, its data, and the module that answers the page."""
    found = {
        f"{folder}/{name}": path for folder in ("simkit", "datasets") for name, path in tree(ROOT / folder).items()
    }
    own = {f"tools/playground/{name}": HERE / name for name in ("answers.py", "__init__.py")}
    keys = {"simkit/engine/authn/signing_keys.py": HERE / "stand_ins/signing_keys.py"}
    return {**found, **own, **keys, "orjson.py": HERE / "stand_ins/orjson.py"}


def library_files() -> dict[str, Path]:
    """The modules of the libraries, and their licences."""
    found = {told: path for name in LIBRARIES for told, path in distribution_files(name).items()}
    kept = (".py", ".lark", "/METADATA", "/RECORD")
    return {told: path for told, path in found.items() if told.endswith(kept) or "licen" in told.lower()}


def distribution_files(name: str) -> dict[str, Path]:
    """The files of a distribution of the environment that are not compiled."""
    found = {str(file): Path(str(file.locate())) for file in files(name) or ()}
    compiled = (".pyc", ".so", ".pyd")
    return {told: path for told, path in found.items() if not told.startswith("..") and not told.endswith(compiled)}


def wheel_files(folder: Path) -> dict[str, Path]:
    """The files of the wheel that is built for browsers, which requirements.lock names by its checksum."""
    wanted = locked(COMPILED, ROOT / "requirements.lock")
    if f"=={version(COMPILED)} " not in wanted:
        raise SystemExit(
            f"the environment has {COMPILED} {version(COMPILED)}, requirements.lock another; run make setup"
        )
    return downloaded(wanted, folder, PLATFORM)


def locked(name: str, lock: Path) -> str:
    """The lines of a lock file about a distribution: its version and checksums."""
    found = re.search(rf"^{name}==.*(?:\n +--hash.*)+", lock.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[0].rstrip("\\ \n")


def downloaded(wanted: str, folder: Path, platform: Sequence[str]) -> dict[str, Path]:
    """The files of a wheel that lines of a lock file name, downloaded to a folder that does not exist."""
    folder.mkdir(parents=True)
    (folder / "wanted.txt").write_text(re.sub(r" ; .*?(?= \\)", "", wanted), encoding="utf-8")
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", *platform)
    run(sys.executable, "-m", "pip", "download", *options, "--require-hashes", "-r", "wanted.txt", folder=folder)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "unpacked")
    return tree(folder / "unpacked")


def tree(folder: Path) -> dict[str, Path]:
    """The files below a folder by their paths in it, without what Python compiled."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path for path in found}


def stage(folder: Path, members: dict[str, Path]) -> None:
    """Copy files to a folder. Tables in YAML become JSON, which a Python without libyaml reads much faster."""
    for name, path in members.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("datasets/") and path.suffix == ".yaml" and isinstance(table := read_yaml(path), dict):
            target.write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


def read_yaml(path: Path) -> Any:
    """The first document of a file, if it has no other."""
    documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    return documents[0] if len(documents) == 1 else None


def pack(folder: Path, target: Path) -> None:
    """Write an archive that is the same for the same files."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not name.startswith(UNUSED):
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)


def write_licences(folder: Path) -> None:
    """Write one file with the licences of all that the site has of others."""
    package = json.loads((HERE / "node_modules/pyodide/package.json").read_text(encoding="utf-8"))
    told = [f"Pyodide {package['version']}: {package['license']}. It contains Python, under the licence of the PSF."]
    found = (path for path in sorted(folder.rglob("*")) if "licen" in path.name.lower() and path.suffix != ".pyc")
    told += [f"{path.relative_to(folder)}\n\n{path.read_text(encoding='utf-8')}" for path in found if path.is_file()]
    (TARGET / "LICENSES.txt").write_text("\n\n----\n\n".join(told), encoding="utf-8")


def write_page() -> None:
    """Write the page with its styles and scripts, and the list of all files for the worker that keeps them."""
    for name in ("page.js", "worker.js"):
        shutil.copyfile(HERE / "page" / name, TARGET / name)
    (TARGET / "graph.js").write_text(graph_script(), encoding="utf-8")
    (TARGET / "page.css").write_text(
        graph_styles() + (HERE / "page/page.css").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (TARGET / "mark.svg").write_text(MARK_ON_PAPER, encoding="utf-8")
    page = (HERE / "page/index.html").read_text(encoding="utf-8").replace("{{ mark }}", MARK)
    (TARGET / "index.html").write_text(page.replace("{{ hashes }}", report_hashes()), encoding="utf-8")
    names = sorted(path.relative_to(TARGET).as_posix() for path in TARGET.rglob("*") if path.is_file())
    script = (HERE / "page/service-worker.js").read_text(encoding="utf-8")
    script = script.replace("{{ version }}", fingerprint(names)).replace('["{{ files }}"]', json.dumps(names))
    (TARGET / "service-worker.js").write_text(script, encoding="utf-8")


def report_hashes() -> str:
    """The scripts of the audit report, which runs in a frame of the page, for the page's Content-Security-Policy."""
    digests = (b64encode(sha256(text.encode()).digest()).decode() for text in (part("report.js"), graph_page_script()))
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def fingerprint(names: Iterable[str]) -> str:
    """A name for the content of all files."""
    made = sha256()
    for name in names:
        made.update(name.encode() + b"\0" + (TARGET / name).read_bytes())
    return made.hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
