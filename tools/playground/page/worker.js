// Python, in a thread of its own so that the page stays responsive. It answers messages {id, ask, ...} with {id, answer, notes} or
// {id, error}, and tells {progress} meanwhile. No data leaves it but by these answers.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const APP = "/app";
const say = (progress) => postMessage({ progress });
const archive = (name) => fetch(`${name}.zip`).then((response) => {
  if (!response.ok) throw new Error(`${name}.zip was answered with ${response.status}; is the whole folder of the playground on the server?`);
  return response.arrayBuffer();
});
let rest; // what the first answer does not need: fetched behind it, and unpacked with the first question that may need it

function fetchRest() {
  rest = archive("rest");
  fetch("graph.js").catch(() => {}); // so that it is kept for a visit without a network
}

async function start() {
  say("Loading Python");
  const [python, first] = await Promise.all([loadPyodide({ indexURL: new URL("./pyodide/", self.location.href).href }), archive("first")]);
  say("Loading simkit");
  python.unpackArchive(first, "zip", { extractDir: APP });
  const path = python.pyimport("sys").path;
  path.insert(0, APP);
  path.destroy();
  const playground = python.pyimport("tools.playground.answers").Playground(say);
  return { python, playground };
}

async function whole(python) {
  if (!rest) fetchRest();
  if (rest !== true) {
    say("Loading the other analyses");
    python.unpackArchive(await rest, "zip", { extractDir: APP });
    python.pyimport("importlib").invalidate_caches();
    rest = true;
  }
}

// Dropped files, in a folder of Python's own file system that lives as long as the tab.
function written(python, files) {
  const folder = "/dumps";
  python.runPython(`import shutil; shutil.rmtree("${folder}", ignore_errors=True)`);
  python.FS.mkdirTree(folder);
  return files.map(({ name, bytes }, number) => {
    const path = `${folder}/${name.replace(/[\/\0]/g, "_").replace(/^\.+$/, "_") || number}`;
    python.FS.writeFile(path, new Uint8Array(bytes));
    return path;
  });
}

const started = start();
let turn = started.catch(() => {});

async function answer({ id, early, files, ...question }) {
  try {
    const { python, playground } = await started;
    if (!early) await whole(python);
    if (files) question.paths = written(python, files);
    postMessage({ id, ...JSON.parse(playground.ask(JSON.stringify(question))) });
    if (early === "last" && !rest) fetchRest();
  } catch (error) {
    const lines = String(error.message || error).trim().split("\n");
    const ended = Boolean(error.pyodide_fatal_error);
    const told = ended ? `Python ended: ${lines[0]}. The dump may be too large or nest too deeply for a browser; the command line may read it.` : `This question failed: ${lines[lines.length - 1]}`;
    postMessage({ id, error: told, ended });
  }
}

onmessage = ({ data }) => { turn = turn.then(() => answer(data)); };
