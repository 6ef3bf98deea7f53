"""Build the course for browsers, JupyterLite with a kernel that has simkit: ``python -m tools.playground.lessons``.

The kernel is Pyodide 0.27 with Python 3.12, the newest for which numpy has a build. ``stand_ins`` has what is missing.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from simkit.meta.distribution import VERSION
from tools.course import FOLDER
from tools.playground.__main__ import (
    HERE,
    ROOT,
    distribution_files,
    downloaded,
    install_modules,
    locked,
    run,
    tree,
)

TARGET: Final = ROOT / "build/lessons"
MODULES: Final = HERE / "node_modules"
LOCK: Final = HERE / "requirements.lock"
PLATFORM: Final = ("--platform", "pyemscripten_2024_0_wasm32", "--python-version", "312", "--abi", "cp312")
PYTHON: Final = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
KERNEL: Final = "@jupyterlite/pyodide-kernel-extension"
WIDGETS: Final = ("@jupyter-widgets/jupyterlab-manager", "anywidget")
"""The extensions of the environment that draw panels."""
OF_KERNEL: Final = (
    *("ipython", "ipython_pygments_lexers", "matplotlib-inline", "traitlets", "prompt_toolkit", "wcwidth", "Pygments"),
    *("stack_data", "executing", "asttokens", "pure_eval", "jedi", "parso", "comm", "typing-extensions"),
)
OF_SIMKIT: Final = (
    *("PyYAML", "Jinja2", "MarkupSafe", "lark", "cel-python", "networkx", "PyJWT", "ecdsa", "six", "tqdm"),
    *("prometheus-client", "ruamel.yaml", "python-dateutil", "tzdata", "ipywidgets", "anywidget", "psygnal"),
)
"""Libraries of the environment that are Python alone."""
STAND_INS: Final = ("lzma", "orjson", "pydantic", "ssl")
NO_INDEX: Final = """
async def install(*names, **options):
    raise RuntimeError("these lessons have no package index: what came with them can be imported, and nothing else")
"""
"""What installs packages in other kernels of JupyterLite, from an index."""
LEFT_OUT: Final = ("simkit/cli/", "simkit/fleet/", "datasets/clusters/hostile", "jedi/third_party/django-stubs/")
COMPRESSED: Final = (".gz", ".zst", ".xz", ".bz2", ".zip")
PICTURE: Final = "picture"
"""The tag of cells that draw with matplotlib, which has no build for browsers."""


def main(more: Path | None = None) -> int:
    """Build, with the files of a folder besides the lessons, and say how large the site is."""
    shutil.rmtree(TARGET, ignore_errors=True)
    install_modules()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        lite = folder / "lite"
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
        run(sys.executable, *install, "--target", str(lite), "-r", str(LOCK))
        source = folder / "source"
        write_kernel(source / "static/pyodide", lite, folder)
        write_lessons(source / "content/course")
        if more is not None:
            if packed := sorted(path.name for path in more.rglob("*") if path.suffix in COMPRESSED):
                raise SystemExit(f"unpack {', '.join(packed)}: a lesson in a browser reads files of text alone")
            shutil.copytree(more, source / "content/class")
        write_settings(source, lite)
        build(source, lite)
    whole = sum(path.stat().st_size for path in TARGET.rglob("*") if path.is_file())
    print(f"the course is in {TARGET.relative_to(ROOT)}: {whole / 1e6:.1f} MB")
    return 0


def write_kernel(target: Path, lite: Path, scratch: Path) -> None:
    """Write Pyodide, and all that lessons import as packages that Pyodide loads by itself."""
    target.mkdir(parents=True)
    for name in PYTHON:
        shutil.copyfile(MODULES / "pyodide-of-lessons" / name, target / name)
    packages = Packages(target)
    for name in (*OF_KERNEL, *OF_SIMKIT):
        packages.add(name, version(name), distribution_files(name))
    for wheel in (lite / "share/jupyter/labextensions" / KERNEL / "static/pypi").glob("[ip]*kernel-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(scratch / wheel.stem)
        packages.add(wheel.name.split("-")[0], wheel.name.split("-")[1], tree(scratch / wheel.stem))
    packages.add("numpy", "2.0.1", conda_files("numpy", scratch / "numpy"))
    packages.add("pandas", "3.0.6", downloaded(locked("pandas", LOCK), scratch / "pandas", PLATFORM))
    for name in STAND_INS:
        packages.add(name, VERSION, {f"{name}.py": HERE / f"stand_ins/{name}.py"})
    for name in ("micropip", "piplite/__init__", "piplite/piplite"):
        path = scratch / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(NO_INDEX if not name.endswith("__init__") else "", encoding="utf-8")
    packages.add("micropip", VERSION, {"micropip.py": scratch / "micropip.py"})
    packages.add("piplite", VERSION, {f"piplite/{name}": path for name, path in tree(scratch / "piplite").items()})
    own = {f"{part}/{name}": path for part in ("simkit", "datasets") for name, path in tree(ROOT / part).items()}
    keys = {"simkit/engine/authn/signing_keys.py": HERE / "stand_ins/signing_keys.py"}
    packages.add("simkit", VERSION, {**own, **keys}, (*OF_SIMKIT, *STAND_INS, "numpy", "pandas", "comm"))
    packages.write(json.loads((MODULES / "pyodide-of-lessons/pyodide-lock.json").read_text(encoding="utf-8"))["info"])


class Packages:
    """Packages in a folder, and the list by which Pyodide finds them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listed: dict[str, dict[str, Any]] = {}

    def add(self, name: str, number: str, members: Mapping[str, Path], needs: Iterable[str] = ()) -> None:
        """Write a package, which is the same for the same files."""
        file = self._folder / f"{plain(name)}-{number}.zip"
        kept = {member: path for member, path in sorted(members.items()) if not member.startswith(LEFT_OUT)}
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, path in kept.items():
                archive.writestr(zipfile.ZipInfo(member), path.read_bytes(), zipfile.ZIP_DEFLATED)
        self._listed[plain(name)] = {
            "name": plain(name),
            "version": number,
            "file_name": file.name,
            "package_type": "package",
            "install_dir": "site",
            "sha256": sha256(file.read_bytes()).hexdigest(),
            "unvendored_tests": False,
            "imports": sorted({member.split("/")[0].removesuffix(".py") for member in kept if "-info/" not in member}),
            "depends": [plain(each) for each in needs],
        }

    def write(self, info: Mapping[str, Any]) -> None:
        """Write the list."""
        text = json.dumps({"info": info, "packages": self._listed})
        (self._folder / "pyodide-lock.json").write_text(text, encoding="utf-8")


def plain(name: str) -> str:
    """The name of a distribution as Pyodide lists it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def conda_files(name: str, scratch: Path) -> dict[str, Path]:
    """The files of a library that npm has as a package of conda."""
    with tarfile.open(next((MODULES / "@emscripten-forge" / name / "pkg").glob("*.tar.gz"))) as archive:
        archive.extractall(scratch, filter="data")
    found = tree(next(scratch.glob("lib/python3*/site-packages")))
    return {member: path for member, path in found.items() if "/tests/" not in member}


def write_lessons(target: Path) -> None:
    """Write the lessons, with pictures in the place of cells that draw some; one kernel draws all of them."""
    lessons = {path: read(path) for path in sorted(FOLDER.glob("*.ipynb"))}
    solved = {path: read(path.parent / "solutions" / path.name) for path, one in lessons.items() if pictured(one)}
    whole = new_notebook(cells=[])  # type: ignore[no-untyped-call]
    for each in solved.values():
        whole.cells += [new_code_cell("%reset -f"), *each.cells]  # type: ignore[no-untyped-call]
    NotebookClient(whole, timeout=300).execute()
    target.mkdir(parents=True)
    for path, lesson in lessons.items():
        for place in pictured(lesson):
            draw(lesson.cells[place], solved[path].cells[place])
        (target / path.name).write_text(json.dumps(lesson), encoding="utf-8")


def pictured(lesson: Any) -> list[int]:
    """Which cells of a lesson draw pictures."""
    return [place for place, cell in enumerate(lesson.cells) if PICTURE in cell.metadata.get("tags", ())]


def read(path: Path) -> Any:
    """A notebook."""
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]


def draw(cell: Any, drawn: Any) -> None:
    """Make a cell of code one of text, with the code and the picture that it made elsewhere."""
    picture = next(output.data["image/png"] for output in drawn.outputs if "image/png" in output.get("data", {}))
    told = "*The picture was drawn when this site was built, since matplotlib does not run in browsers.*"
    cell.cell_type = "markdown"
    cell.attachments = {"picture.png": {"image/png": base64.b64encode(base64.b64decode(picture)).decode()}}
    cell.source = f"```python\n{cell.source}\n```\n\n![](attachment:picture.png)\n\n{told}"
    del cell["outputs"], cell["execution_count"]


def write_settings(source: Path, lite: Path) -> None:
    """Write what JupyterLite is built with, and what its pages begin with."""
    extensions = [lite / "share/jupyter/labextensions" / KERNEL]
    extensions += [Path(sys.prefix) / "share/jupyter/labextensions" / name for name in WIDGETS]
    settings = {
        "apps": ["notebooks", "tree"],
        "contents": ["content"],
        "federated_extensions": [str(path) for path in extensions],
        "ignore_sys_prefix": True,
        "no_sourcemaps": True,
        "no_unused_shared_packages": True,
        "output_dir": str(TARGET),
    }
    (source / "jupyter_lite_config.json").write_text(json.dumps({"LiteBuildConfig": settings}), encoding="utf-8")
    started = ["micropip", "piplite", "ipykernel", "pyodide-kernel", *map(plain, OF_KERNEL), "simkit"]
    kernel = {
        "pyodideUrl": "./static/pyodide/pyodide.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": started},
    }
    page = {
        "appName": "simkit",
        "appUrl": "./tree",
        "litePluginSettings": {f"{KERNEL}:kernel": kernel},
        "settingsOverrides": {
            "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}
        },  # all can be searched
    }
    told = {"jupyter-lite-schema-version": 0, "jupyter-config-data": page}
    (source / "jupyter-lite.json").write_text(json.dumps(told), encoding="utf-8")


def build(source: Path, lite: Path) -> None:
    """Have JupyterLite make the pages."""
    os.environ["PYTHONPATH"] = str(lite)
    run(sys.executable, "-m", "jupyterlite_core.app", "build", folder=source)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.playground.lessons")
    parser.add_argument("--class", dest="more", type=Path, metavar="FOLDER", help="notebooks and dumps of a class")
    sys.exit(main(parser.parse_args().more))
