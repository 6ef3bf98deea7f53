// The page: questions to the worker, and its answers as elements. Text from a dump goes into the page as text, never as markup.
const by = (id) => document.getElementById(id);
const TABS = ["who", "causes", "graph", "report", "change"];

function made(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

// ---- the worker

let worker;
let opened = 0; // counts what was opened, so that a late answer about an earlier dump is dropped
let number = 0;
const waiting = new Map();

function tell(words, busy = false) {
  by("status").textContent = words;
  by("status").classList.toggle("busy", busy);
}

// The answer of the worker; an error is shown, and null is what the caller gets.
async function ask(question, transfer = []) {
  by("error").hidden = true;
  const about = opened;
  const began = performance.now();
  const id = ++number;
  const { answer, notes, error, ended } = await new Promise((done) => { waiting.set(id, done); worker.postMessage({ id, ...question }, transfer); });
  if (ended) end();
  if (about !== opened && question.ask !== "open") return null;
  if (!waiting.size) tell(`Answered in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  if (error !== undefined) {
    by("error").textContent = error;
    by("error").hidden = false;
    return null;
  }
  by("notes").replaceChildren(...notes.map((note) => made("li", {}, note)));
  return answer;
}

// What is open, for when Python was stopped.
let source = [];

function end() {
  worker.terminate();
  for (const done of waiting.values()) done({ error: "Python was ended." });
  waiting.clear();
  begin();
  by("about").textContent = "No cluster is open.";
}

function stop() {
  end();
  open(source, "who");
}

function begin() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.progress) tell(`${data.progress} ...`, true);
    else if (waiting.has(data.id)) {
      const done = waiting.get(data.id);
      waiting.delete(data.id);
      done(data);
    }
  };
  worker.onerror = (fault) => {
    const error = `Python could not be started: ${fault.message || "the browser gives no reason"}. A current browser and a web server are needed; files opened from a disk do not work.`;
    for (const done of waiting.values()) done({ error });
    waiting.clear();
  };
}

// Every file passes the service worker, which keeps it for the next visit. Where there is none, the page works without.
async function kept() {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  const claimed = new Promise((done) => workers.addEventListener("controllerchange", done, { once: true }));
  const registered = workers.register("service-worker.js").catch(() => {}); // private windows of some browsers have none
  if (workers.controller) return;
  await registered;
  if (!workers.controller) await Promise.race([claimed, new Promise((done) => setTimeout(done, 2000))]);
}

// ---- elements of answers

const cell = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));

function table(columns, rows, marked = {}) {
  const head = made("tr", {}, ...columns.map((name) => made("th", { scope: "col" }, name)));
  const body = rows.map((row) => made("tr", {}, ...row.map((value, at) => {
    const text = cell(value);
    const style = marked[columns[at]];
    return made("td", {}, style ? made("span", { class: style(text) }, text) : text);
  })));
  return made("div", { class: "scroll", tabindex: "0" }, made("table", {}, made("thead", {}, head), made("tbody", {}, ...body)));
}

function commands(lines) {
  if (!lines.length) return null;
  const text = lines.join("\n");
  const button = made("button", { type: "button" }, "Copy");
  button.addEventListener("click", () => navigator.clipboard.writeText(text));
  return made("div", { class: "sk-code" }, made("pre", { tabindex: "0" }, text), button);
}

const folded = (title, ...inside) => made("details", {}, made("summary", {}, title), ...inside);
const put = (tab, ...elements) => by(tab).querySelector(".answer").replaceChildren(...elements.filter((one) => one !== null));

// ---- the tabs

const shown = {}; // the tabs whose answer is about the open dump
const show = {
  async who(early) {
    const form = by("who").querySelector("form").elements;
    const [subject, verb, resource, namespace] = ["subject", "verb", "resource", "namespace"].map((name) => form[name].value.trim());
    if (subject) {
      const found = await ask({ ask: "can", subject, verb, resource, namespace });
      if (found) put("who", made("p", { class: `verdict ${found.allowed ? "gained" : "lost"}` }, found.allowed ? "Yes" : "No"), made("pre", { class: "lines" }, found.lines.join("\n")));
      return;
    }
    const found = await ask({ ask: "who_can", verb, resource, namespace, defaults: form.defaults.checked, ...(early ? { early } : {}) });
    if (!found) return;
    const subjects = new Set(found.rows.map(([name]) => name)).size;
    const skipped = found.skipped ? made("p", { class: "soft" }, `${plural(found.skipped, "row")} of unmodified Kubernetes defaults ${found.skipped === 1 ? "is" : "are"} left out.`) : null;
    const where = namespace ? ` in namespace ${namespace}` : "";
    put("who", made("p", { class: "verdict" }, `${plural(subjects, "subject")} can ${found.question}${where}`), table(found.columns, found.rows.map((row) => row.map((value, at) => (found.columns[at] === "rule" && value < 0 ? "(no rule)" : value))), { subject: () => "sk-subject" }), skipped);
  },

  async causes() {
    const found = await ask({ ask: "causes" });
    if (!found) return;
    const { counts, causes, plan } = found;
    const findings = Object.values(counts.findings).reduce((sum, count) => sum + count, 0);
    const cards = causes.map((one) => made("div", { class: "card" },
      made("p", {}, made("span", { class: `sk-badge ${one.severity}` }, one.severity), " ", made("span", { class: "sk-chip" }, one.nature), ` ${plural(one.paths, "path")}, ${plural(one.findings, "finding")}`),
      made("p", {}, made("b", {}, one.cause)),
      made("p", {}, `${one.remedy} ${one.closes ? `Closes ${plural(one.closes, "path")}.` : ""}`),
      commands(one.commands), one.way_back.length ? folded("The way back", commands(one.way_back)) : null));
    put("causes", made("p", { class: "verdict" }, `${plural(counts.paths, "escalation path")} and ${plural(findings, "finding")} come from ${plural(counts.causes, "cause")}`),
      made("h2", {}, "Changes that close most paths"), made("pre", { class: "lines" }, plan.lines.join("\n")), commands(plan.commands), plan.way_back.length ? folded("The way back", commands(plan.way_back)) : null,
      made("h2", {}, causes.length < counts.causes ? `The first ${causes.length} causes` : "Causes"), ...cards,
      causes.length < counts.causes ? made("p", { class: "soft" }, "The report has all of them.") : null);
  },

  async graph() {
    const found = await ask({ ask: "graph" });
    if (!found) return;
    const { mount } = await import("./graph.js");
    const element = by("graph").querySelector(".answer");
    const prove = async (start, goal) => {
      const told = await ask({ ask: "prove", start, goal });
      return told ? told.proof : { verdict: "not executed; the line above says why", requests: [] };
    };
    element.replaceChildren();
    mount(element, found.graph, { prove });
  },

  async report() {
    const found = await ask({ ask: "report" });
    if (!found) return;
    const frame = made("iframe", { sandbox: "allow-scripts", title: "Audit report" });
    frame.srcdoc = found.html;
    const address = URL.createObjectURL(new Blob([found.html], { type: "text/html" }));
    put("report", made("p", {}, made("a", { href: address, download: "rbac-audit.html" }, "Save the report"), ": one file that needs nothing else."), frame);
  },

  async change() {
    const form = by("change").querySelector("form").elements;
    const named = form.delete.value.trim();
    const manifest = form.manifest.value;
    if (!named && !manifest.trim()) {
      put("change", made("p", { class: "soft" }, "Name a binding to delete, or write a manifest to apply. The open cluster stays as it is: the change is made on a fork."));
      return;
    }
    const [kind, ...names] = named.split("/");
    const found = await ask({ ask: "change", manifest, delete: named ? [[kind, names.length > 1 ? names[0] : "", names[names.length - 1] || ""]] : [] });
    if (!found) return;
    const access = found.access.map((one) => [one.change, one.subject, one.scope, one.verbs, one.resources, one.bindings]);
    const paths = found.paths.map((one) => [one.change, one.subject, one.goal, one.path]);
    const marked = { change: (word) => word, subject: () => "sk-subject" };
    put("change", made("p", { class: "verdict" }, `${found.made.join("; ")}: ${plural(found.count, "change")} of access, ${plural(paths.length, "change")} of escalation paths`),
      access.length ? table(["change", "subject", "scope", "verbs", "resources", "binding"], access, marked) : null,
      found.count > access.length ? made("p", { class: "soft" }, `The first ${access.length} are listed.`) : null,
      paths.length ? table(["change", "subject", "goal", "path"], paths, marked) : null);
  },
};

function select(tab, early) {
  for (const name of TABS) {
    by(name).hidden = name !== tab;
    by(`tab-${name}`).setAttribute("aria-selected", name === tab);
    by(`tab-${name}`).tabIndex = name === tab ? 0 : -1;
  }
  remember(tab);
  if (shown[tab] === opened) return Promise.resolve();
  shown[tab] = opened;
  return show[tab](early);
}

// ---- links: the question is in the fragment, the dump is not

const ASKED = { who: ["subject", "verb", "resource", "namespace"], change: ["delete"] };

function remember(tab) {
  const words = new URLSearchParams({ ask: tab });
  for (const name of ASKED[tab] || []) {
    const { value } = by(tab).querySelector("form").elements[name];
    if (value) words.set(name, value);
  }
  history.replaceState(null, "", `#${words}`);
}

function recall() {
  const words = new URLSearchParams(location.hash.slice(1));
  const tab = TABS.includes(words.get("ask")) ? words.get("ask") : "who";
  for (const name of words.size ? ASKED[tab] || [] : []) by(tab).querySelector("form").elements[name].value = words.get(name) || "";
  return tab;
}

// ---- what is open

async function open(files, tab, early) {
  opened += 1;
  source = files;
  for (const name of TABS) put(name);
  const read = await Promise.all(files.map(async (file) => ({ name: file.name, bytes: await file.arrayBuffer() })));
  tell(files.length ? "Reading the dump" : "Reading the demo cluster", true);
  const about = await ask(files.length ? { ask: "open", files: read } : { ask: "open", paths: [], ...(early ? { early: "yes" } : {}) }, read.map(({ bytes }) => bytes));
  if (!about) {
    by("about").textContent = "No cluster is open.";
    return;
  }
  by("about").textContent = `${about.name}: ${plural(about.objects, "object")}, Kubernetes ${about.release}`;
  by("namespaces").replaceChildren(...about.namespaces.map((name) => made("option", { value: name })));
  by("bindings").replaceChildren(...about.bindings.map(([resource, namespace, name]) => made("option", { value: [resource, namespace, name].filter(Boolean).join("/") })));
  await select(tab, early);
  if (about.told.length) by("notes").prepend(...about.told.map((line) => made("li", {}, line)));
}

const present = () => TABS.find((name) => !by(name).hidden);
for (const tab of TABS) by(`tab-${tab}`).addEventListener("click", () => select(tab));
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const next = TABS[(TABS.indexOf(present()) + step + TABS.length) % TABS.length];
  by(`tab-${next}`).focus();
  select(next);
});
for (const tab of ["who", "change"]) by(tab).querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  shown[tab] = null;
  select(tab);
});
by("file").addEventListener("change", (event) => { if (event.target.files.length) open([...event.target.files], present()); event.target.value = ""; });
by("demo").addEventListener("click", () => open([], present()));
by("stop").addEventListener("click", stop);
by("link").addEventListener("click", async () => {
  await navigator.clipboard.writeText(location.href);
  tell("The link is copied. It holds the question, not the dump.");
});
addEventListener("dragover", (event) => { event.preventDefault(); by("source").classList.add("over"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) by("source").classList.remove("over"); });
addEventListener("drop", (event) => {
  event.preventDefault();
  by("source").classList.remove("over");
  if (event.dataTransfer.files.length) open([...event.dataTransfer.files], present());
});
addEventListener("hashchange", () => { const tab = recall(); shown[tab] = null; select(tab); });

await kept();
begin();
const early = !location.hash; // the first answer needs a part of simkit alone
await open([], recall(), early ? "last" : undefined);
