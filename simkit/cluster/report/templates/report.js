"use strict";
(function () {
  const byId = id => document.getElementById(id), all = (q, from) => [...(from || document).querySelectorAll(q)];
  const data = unpacked(JSON.parse(byId("data").textContent));
  const form = byId("filters"), shown = byId("shown"), box = byId("groups"), through = byId("through");

  /* page_data.py: texts are -1, -2, ..., and equal records are rows below their fields. */
  function unpacked(block) {
    const read = value => {
      if (typeof value === "number") return value < 0 ? block.texts[-1 - value] : value;
      if (value === null || typeof value !== "object") return value;
      if (Array.isArray(value)) return value.map(read);
      if (value["="]) return value.of.map(row => Object.fromEntries(value["="].map((name, at) => [name, read(row[at])])));
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, read(one)]));
    };
    return read(block.rows);
  }
  /* Every text goes into the page as text: nothing here reads markup. */
  function el(tag, attributes, ...inside) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...inside.flat().filter(one => one !== "" && one !== null && one !== undefined));
    return made;
  }
  const badge = level => el("span", { class: "sk-badge " + level }, level);
  const meta = text => el("div", { class: "meta" }, text);
  const fold = (title, ...inside) => el("details", {}, el("summary", {}, title), el("div", { class: "in" }, inside));
  const link = (id, text) => el("a", { href: "#" + id }, text);
  const list = rows => {
    const kept = rows.filter(([, told]) => told && told.length !== 0);
    return el("dl", {}, kept.flatMap(([name, told, style]) => [el("dt", { class: style || "" }, name), el("dd", { class: style || "" }, told)]));
  };
  function code(text, kind) {
    const lines = kind ? text.split("\n").flatMap((line, at) => [at ? "\n" : "", /^[+-]/.test(line) ? el("span", { class: line[0] === "+" ? "add" : "gone" }, line) : line]) : [text];
    return el("div", { class: "sk-code " + (kind || "") }, el("pre", { tabindex: 0 }, lines), el("button", { type: "button", "data-copy": "" }, "Copy"));
  }
  const lined = (texts, kind) => (texts && texts.length ? code(Array.isArray(texts) ? texts.join("\n") : texts, kind) : "");
  function people(names, most) {
    const chip = name => el("button", { type: "button", class: "sk-subject", "data-subject": name, title: "Show the findings about it" }, name);
    const rest = names.slice(most || 12);
    return [...names.slice(0, most || 12).map(chip), rest.length ? fold("and " + rest.length + " more", rest.map(chip)) : ""];
  }
  const counted = (number, word, more) => number + " " + (number === 1 ? word : more || word + "s");

  const checks = Object.fromEntries(all("#checks tr[data-check]").map(row => {
    const [title, , , why, fix] = [...row.cells].map(cell => cell.textContent);
    return [row.dataset.check, { title, why, fix, references: row.dataset.references.split("|").filter(Boolean) }];
  }));
  const primitives = Object.fromEntries(data.primitives.map(([id, title, severity, advice, references]) => [id, { title, severity, advice, references }]));
  const causes = {}, ways = {}, details = new Map();
  const text = row => row.querySelector(":scope > summary .t").textContent;

  all("#causes details[id]").forEach((row, at) => {
    causes[row.id] = Object.assign(data.causes[at], { row, id: row.id, ways: [], findings: [] });
    details.set(row, () => cause(causes[row.id]));
  });
  all("#paths details[id]").forEach((row, at) => {
    const way = ways[row.id] = Object.assign(data.ways[at], { row, id: row.id });
    causes[way.cause].ways.push(way);
    details.set(row, () => path(way));
  });
  const findings = all("[data-f]").map((row, at) => {
    const one = Object.assign(data.findings[at], { row, at, id: row.id, severity: row.dataset.f, message: text(row) });
    one.title = checks[one.check].title;
    one.references = checks[one.check].references;
    one.fix = one.fix || checks[one.check].fix;
    one.nature = one.cause ? causes[one.cause].nature : "";
    one.product = one.cause ? causes[one.cause].product : "";
    if (one.cause) causes[one.cause].findings.push(one);
    details.set(row, () => finding(one));
    return one;
  });

  function cause(one) {
    const effect = one.effect ? one.effect.map(row => el("li", {}, row.change + ": " + row.subject + " " + row.what + " in " + (row.scope === "*" ? "the whole cluster" : row.scope))) : [];
    const titles = [...new Set(one.findings.map(each => each.title))];
    return [
      list([
        ["Kind", one.kind],
        ["Product", one.product],
        ["Subjects", people(one.subjects)],
        ["Paths to", one.goals.join("; ")],
        ["Blast radius", one.reaches ? counted(one.reaches, "identity, object or kind of harm", "identities, objects and kinds of harm") + " can be reached" : ""],
        ["Paths", one.ways.map(way => el("div", {}, link(way.id, way.subjects[0] + (way.subjects.length > 1 ? " and " + (way.subjects.length - 1) + " more" : "") + " to " + way.goals.join(", ")), way.proof ? " (" + way.proof.verdict + ")" : ""))],
        ["Findings", titles.map(title => el("div", {}, title + ": ", one.findings.filter(each => each.title === title).flatMap((each, at) => [link(each.id, String(at + 1)), " "])))],
      ]),
      one.risk ? el("p", {}, el("b", {}, "Risk: "), one.risk + ".") : "",
      lined(one.commands),
      one.effects ? meta("Effect of the change: " + one.effects + (one.more ? " (the first " + effect.length + " are shown)" : "") + ".") : "",
      effect.length > 8 ? [el("ul", {}, effect.slice(0, 8)), fold("and " + (effect.length - 8) + " more", el("ul", {}, effect.slice(8)))] : effect.length ? el("ul", {}, effect) : "",
      one.diff ? fold("As a diff", lined(one.diff, "sk-diff")) : "",
      one.way_back && one.way_back.length ? fold("How to undo it", lined(one.way_back)) : "",
    ].flat();
  }
  function path(one) {
    const steps = one.steps.map(([id, target, grants]) => el("li", {}, badge(primitives[id].severity), " " + id + " " + primitives[id].title + ": ",
      el("button", { type: "button", class: "place", "data-through": target, title: "Show all paths through it" }, target),
      grants.map(by => meta("by " + by)), primitives[id].advice ? meta("Mitigation: " + primitives[id].advice) : "", primitives[id].references.length ? meta("References: " + primitives[id].references.join(", ")) : ""));
    const proof = one.proof, head = ["Step", "As", "Request", "Status", "Message"];
    const rows = proof ? proof.requests.map(row => el("tr", {}, [row.step, row.actor, el("code", {}, row.request), row.status || "", [row.message, row.assumption ? meta("assumed: " + row.assumption) : ""]].map(cell => el("td", {}, typeof cell === "number" ? String(cell) : cell)))) : [];
    return [
      list([["Who", people(one.subjects)], ["To", one.goals.join(", ")], ["Cause", link(one.cause, text(causes[one.cause].row))], ["Link", link(one.id, one.id), "address"]]),
      el("ol", {}, steps),
      proof ? el("h3", {}, "Executed as " + proof.subject + ": " + proof.verdict + (proof.reason ? " (" + proof.reason + ")" : "")) : meta("Not executed for this report: simkit audit --prove executes every path."),
      proof ? el("div", { class: "scroll", tabindex: 0 }, el("table", {}, el("caption", {}, "The requests on a fork of the cluster, with the responses"), el("thead", {}, el("tr", {}, head.map(name => el("th", { scope: "col" }, name)))), el("tbody", {}, rows))) : "",
    ];
  }
  function finding(one) {
    const proven = one.cause && causes[one.cause].ways.find(way => way.proof && way.proof.verdict.startsWith("proven"));
    return [
      list([
        ["Check", one.title + " (" + one.check + ")", "again"],
        ["Why it matters", checks[one.check].why, "again"],
        ["What to do", one.fix, one.fix === checks[one.check].fix ? "again" : ""],
        ["Subjects", people(one.subjects)],
        ["Binding", one.binding],
        ["Role", one.role ? [one.role, ...one.rules.map(meta)] : ""],
        ["Team", one.team],
        ["File", one.file ? one.file + (one.line ? ", line " + one.line : "") : ""],
        ["References", one.references.flatMap(name => [el("span", { class: "sk-chip" }, name), " "])],
        ["Cause", one.cause ? [link(one.cause, text(causes[one.cause].row)), " (" + one.nature + ")"] : ""],
        ["Proof", proven ? link(proven.id, "a path that was executed") : ""],
        ["Link", link(one.id, one.id.slice(2)), "address"],
      ]),
      lined(one.command),
      one.manifest ? fold("As a manifest", lined(JSON.stringify(one.manifest, null, 2))) : "",
    ];
  }
  function fill(row) {
    if (details.has(row)) row.append(el("div", { class: "in" }, details.get(row)()));
    details.delete(row);
  }
  document.addEventListener("toggle", event => { if (event.target.open) fill(event.target); }, true);

  /* A word is looked for at the start of words of what a finding is about, never in advice. */
  const parts = { message: 0, title: 0, check: 0, namespace: 0, team: 0, product: 0, severity: 0, subjects: 1, binding: 1, role: 1, rules: 1 };
  const escaped = word => new RegExp("(^|[^\\p{L}\\p{N}])" + word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu");
  function matched(one, words) {
    const hits = words.map(word => Object.keys(parts).find(name => [one[name]].flat().some(told => word.test(told))));
    return hits.every(Boolean) ? hits.filter(name => parts[name]).map(name => [one[name]].flat().find(told => words.some(word => word.test(told)))) : null;
  }
  const value = name => form.elements[name].value.trim();
  function filter() {
    const levels = all("input[name=level]:checked", form).map(one => one.value), subject = value("subject").toLowerCase();
    const words = value("words").split(/\s+/).filter(Boolean).map(escaped);
    let count = 0;
    findings.forEach(one => {
      const why = levels.includes(one.severity) && ["namespace", "check", "nature"].every(name => !value(name) || one[name] === value(name)) &&
        (!value("control") || one.references.includes(value("control"))) && (!subject || one.subjects.some(name => name.toLowerCase().includes(subject))) && matched(one, words);
      one.row.hidden = !why;
      count += why ? 1 : 0;
      const line = one.row.firstElementChild, old = line.querySelector(".why");
      if (old) old.remove();
      if (why && why.length) line.append(el("span", { class: "meta why" }, " " + [...new Set(why)].join("; ")));
    });
    all(".group").forEach(group => {
      const left = all("[data-f]:not([hidden])", group).length;
      group.hidden = !left;
      group.querySelector(".left").textContent = left;
      group.open = group.open || (words.length > 0 && count < 100);
    });
    highlight(words);
    shown.textContent = count + " of " + counted(findings.length, "finding");
  }
  function highlight(words) {
    if (!window.Highlight) return;
    const ranges = findings.filter(one => words.length && !one.row.hidden).flatMap(one => words.map(word => {
      const node = one.row.querySelector(".t").firstChild, found = word.exec(node.data);
      if (!found) return null;
      const range = new Range(), start = found.index + found[1].length;
      range.setStart(node, start);
      range.setEnd(node, found.index + found[0].length);
      return range;
    })).filter(Boolean);
    CSS.highlights.set("found", new Highlight(...ranges));
  }
  const grounds = { namespace: "whole cluster", team: "no team known", subject: "nobody in particular", product: "no product" };
  function regroup() {
    const by = value("group"), groups = new Map();
    findings.forEach(one => {
      const name = by === "subject" ? one.subjects.join(", ") : one[by] || "";
      groups.set(name, [...(groups.get(name) || []), one]);
    });
    const ranks = ["critical", "high", "medium", "low", "info"], rank = some => Math.min(...some.map(one => ranks.indexOf(one.severity)));
    const order = by === "check" ? [...groups] : [...groups].sort(([a, one], [b, two]) => (by === "namespace" ? !b - !a : !a - !b) || rank(one) - rank(two) || two.length - one.length || a.localeCompare(b));
    box.replaceChildren(...order.map(([name, some], at) => {
      const sorted = [...some].sort((a, b) => ranks.indexOf(a.severity) - ranks.indexOf(b.severity) || a.at - b.at);
      const head = el("summary", {}, badge(ranks[rank(some)]), " ", el("span", { class: "t" }, by === "check" ? checks[name].title : name || grounds[by]), " ", el("span", { class: "left" }, String(some.length)));
      const why = by === "check" ? el("p", {}, el("b", {}, "Why it matters: "), checks[name].why, el("b", {}, " What to do: "), checks[name].fix) : "";
      const made = el("details", { class: "group by-" + by, "data-g": name }, head, el("div", { class: "in" }, why, sorted.map(one => one.row)));
      made.open = at < 3;
      return made;
    }));
    filter();
  }
  const openGroups = () => all(".group").forEach(group => { group.open = !group.hidden; });
  form.addEventListener("input", event => { if (event.target.name !== "group") filter(); });
  form.elements.group.addEventListener("change", regroup);
  const reset = () => { form.reset(); regroup(); };
  form.addEventListener("submit", event => event.preventDefault());

  /* As `simkit audit -o csv`: a cell that a spreadsheet would take for a formula begins with an apostrophe. */
  const cell = told => { const safe = /^ *[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(told) ? "'" + told : told; return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe; };
  const fields = ["severity", "check", "title", "namespace", "team", "nature", "product", "subjects", "binding", "role", "rules", "message", "fix", "command", "references", "file", "line", "cause"];
  function save(kind) {
    const rows = findings.filter(one => !one.row.hidden).map(one => Object.fromEntries([["id", one.id.slice(2)], ...fields.map(name => [name, one[name]])]));
    const flat = row => Object.values(row).map(told => cell(told === null ? "" : [told].flat().join("; "))).join(",");
    const made = kind === "csv" ? [["id", ...fields].join(","), ...rows.map(flat)].join("\n") + "\n" : JSON.stringify({ ...data.about, findings: rows }, null, 1);
    const url = URL.createObjectURL(new Blob([made], { type: kind === "csv" ? "text/csv" : "application/json" }));
    el("a", { href: url, download: "findings." + kind }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
  function copy(button) {
    const done = ok => { button.textContent = ok ? "Copied" : "Select it"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    const select = () => { getSelection().selectAllChildren(button.previousElementSibling); done(document.execCommand("copy")); };
    if (navigator.clipboard) navigator.clipboard.writeText(button.previousElementSibling.textContent).then(() => done(true), select);
    else select();
  }
  function lead(place) {
    const every = Object.values(ways);
    let count = 0;
    every.forEach(way => {
      way.row.hidden = !!place && !way.steps.some(step => step[1] === place);
      count += way.row.hidden ? 0 : 1;
    });
    all("#paths > .more").forEach(rest => { rest.open = rest.open || !!place; });
    through.hidden = !place;
    through.querySelector("span").textContent = place ? count + " of " + every.length + " paths lead through " + place + "." : "";
    if (place) through.scrollIntoView({ block: "center" });
  }
  function reveal() {
    const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.dataset.f && target.hidden) reset();
    if (ways[target.id] && target.hidden) lead("");
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") { fill(one); one.hidden = false; one.open = true; }
    target.scrollIntoView();
  }
  function narrow(name, wanted) {
    if (name === "level") all("input[name=level]", form).forEach(one => { one.checked = one.value === wanted; });
    else form.elements[name].value = wanted;
    filter();
    openGroups();
    if (name === "subject") byId("findings").scrollIntoView();
  }
  document.addEventListener("click", event => {
    const on = name => { const found = event.target.closest && event.target.closest("[data-" + name + "]"); return found && found.dataset[name]; };
    if (on("copy") === "") copy(event.target.closest("[data-copy]"));
    else if (on("through")) lead(on("through"));
    else if (on("subject")) narrow("subject", on("subject"));
    else if (on("level")) narrow("level", on("level"));
    else if (on("namespace")) narrow("namespace", on("namespace"));
    else if (on("control")) narrow("control", on("control"));
    else if (on("save")) save(on("save"));
    else if (on("reset") === "") reset();
    else if (on("open")) all(".group").forEach(group => { group.open = on("open") === "yes"; });
  });
  through.querySelector("button").addEventListener("click", () => lead(""));
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  addEventListener("hashchange", reveal);
  const printed = "section > .more, #causes > [data-full], #plan > details, #findings .group, [data-f=critical], [data-f=high]";
  addEventListener("beforeprint", () => all("details").forEach(one => { one.wasOpen = one.open; if (one.matches(printed)) { fill(one); one.open = true; } }));
  addEventListener("afterprint", () => all("details").forEach(one => { one.open = one.wasOpen; }));
  regroup();
  reveal();
})();
