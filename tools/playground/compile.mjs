// Compiles the modules in a folder with the Python that will import them, and removes the sources: node compile.mjs FOLDER LEVEL
// Of level 2 they have no docstrings and assertions.
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.mountNodeFS("/packs", process.argv[2]);
python.globals.set("level", Number(process.argv[3]));
python.runPython(`
import compileall, pathlib, py_compile

made = compileall.compile_dir("/packs", maxlevels=30, quiet=1, legacy=True, optimize=level, stripdir="/packs",
                              invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
if not made:
    raise SystemExit("a module was not compiled")
for path in pathlib.Path("/packs").rglob("*.py"):
    path.unlink()
`);
