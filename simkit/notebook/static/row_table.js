// A page of a table: rows are chosen with the mouse or the arrow keys, pages are turned, words filter, heads sort.
// The kernel keeps all rows and sends one page; cells are set as text, never as markup.

const SHORT = 20; // letters of a cell that stays on one line: a time, ClusterRoleBinding
const WHOLE = /^\d|^\S{1,12}$/; // what stays on one line in narrow places too: a time, ClusterRole
const LONG_WORD = /([^\s-]{25,})/u; // a hash; the words of names are shorter
const PATIENCE = 1000; // milliseconds until a table says that it waits
const PIECES = /[^]{1,12}/gu;
const JOINTS = /(?<=[./@=]|\w{4}:)(?=[^\s./@=:])(?!(?<=\d\.)\d)|(?<=[a-z])(?=[A-Z])/;
const LAST_WORD = /(?<=[./@=]|\w{4}:)(?=[^\s./@=:])(?!(?<=\d\.)\d)|(?<=[a-z])(?=[A-Z][a-z]+$)/;

// Long names have no blanks: they may be broken behind the signs that join their parts, and a part that is long itself
// anywhere. Short cells are broken in narrow places only, before their last word: ClusterRole Binding.
function breakable(text) {
  const between = (parts) => parts.flatMap((part, number) => (number ? [document.createElement("wbr"), part] : [part]).flat());
  const words = (part) => part.split(LONG_WORD).flatMap((word, number) => (number % 2 ? between(word.match(PIECES)) : [word]));
  return between(text.split(text.length > SHORT ? JOINTS : LAST_WORD).map(words));
}

function drawTable({ model, el }) {
  const filter = made("input", { type: "search", class: "sk-filter", placeholder: "words in a row" });
  const page = made("input", { type: "number", class: "sk-page", min: "1", step: "1" });
  const back = made("button", { type: "button" }, "Back");
  const next = made("button", { type: "button" }, "Next");
  const count = made("span", { class: "sk-count", "aria-live": "polite" });
  const pager = made("label", {}, "Page ", page);
  const bar = made("div", { class: "sk-bar" }, made("label", {}, "Filter ", filter), pager, count, back, next);
  const head = made("tr", {});
  const body = made("tbody", {});
  const grid = made("table", { role: "grid", class: "sk-rows" }, made("thead", {}, head), body);
  const empty = made("p", { class: "sk-empty", tabindex: "-1" });
  const notes = made("div", { role: "note" });
  const scroll = made("div", { class: "sk-scroll" }, grid);
  const box = made("div", { class: "sk-table", role: "group" }, notes, bar, scroll, empty);
  el.replaceChildren(box);

  const active = () => el.getRootNode().activeElement; // marimo shows a widget in a root of its own
  const send = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  // A kernel hears no panel while it runs a cell: until the page that was asked for comes, the old one is pale.
  let asked;
  const ask = (name, value) => {
    send(name, value);
    clearTimeout(asked);
    asked = setTimeout(() => {
      box.setAttribute("aria-busy", "true");
      count.textContent = "waiting for the kernel, which runs a cell";
    }, PATIENCE);
  };
  const heard = () => {
    clearTimeout(asked);
    box.removeAttribute("aria-busy");
    showBar();
  };
  const turn = (to, from_end = false) => {
    const wanted = Math.min(Math.max(to, 1), model.get("pages"));
    if (wanted === model.get("page")) return;
    model.set("chosen", from_end ? -2 : -1);
    ask("page", wanted);
  };
  const choose = (number) => {
    if (number < 0) return turn(model.get("page") - 1, true);
    if (number >= model.get("cells").length) return turn(model.get("page") + 1);
    if (number !== model.get("chosen")) send("chosen", number);
    mark();
    focus(number);
  };
  const activate = () => {
    model.set("chosen", model.get("chosen")); // goes along: marimo may deliver two changes in any order
    send("activated", model.get("activated") + 1);
  };
  // The row comes into sight; a table that is wider than its place stays where it was moved to.
  const focus = (number) => {
    const { scrollLeft } = scroll;
    body.rows[number].focus();
    scroll.scrollLeft = scrollLeft;
  };

  function showHead() {
    const [sorted, down] = [model.get("sort").replace(/^-/, ""), model.get("sort").startsWith("-")];
    const focused = [...head.children].findIndex((each) => each.contains(active()));
    head.replaceChildren(
      ...model.get("columns").map((column) => {
        const parts = column.split(/(?<=_)/).flatMap((part, place) => (place ? [made("wbr", {}), part] : [part]));
        const button = made("button", { type: "button", title: "sort by this column" }, ...parts);
        button.addEventListener("click", () => ask("sort", sorted === column && !down ? `-${column}` : column));
        const direction = sorted === column ? (down ? "descending" : "ascending") : "none";
        return made("th", { scope: "col", "aria-sort": direction }, button);
      }),
    );
    head.children[focused]?.firstChild.focus();
  }

  function showRows() {
    const focused = [...body.rows, empty].includes(active());
    const { height } = box.getBoundingClientRect();
    const [marks, first] = [model.get("marks"), model.get("first")];
    body.replaceChildren(
      ...model.get("cells").map((row, number) => {
        const cells = row.map((cell) => {
          const shown = made("td", { role: "gridcell" });
          shown.append(...breakable(cell.text));
          if (cell.number) shown.classList.add("number");
          if (cell.text.length <= SHORT) shown.classList.add("short");
          if (WHOLE.test(cell.text)) shown.classList.add("whole");
          return shown;
        });
        const line = made("tr", { class: marks[number] || "", "aria-rowindex": String(first + number + 2) }, ...cells);
        line.addEventListener("click", () => choose(number));
        line.addEventListener("dblclick", activate);
        return line;
      }),
    );
    const [any, waits] = [body.rows.length > 0, model.get("waits")];
    box.style.minHeight = waits ? `${height}px` : ""; // what stands below stays where it is until there are rows
    const none = model.get("total") ? "No row holds these words." : model.get("empty");
    empty.textContent = any ? "" : waits ? "Looking …" : none;
    grid.style.display = any ? "" : "none";
    mark();
    if (focused) any ? focus(Math.max(model.get("chosen"), 0)) : empty.focus({ preventScroll: true });
  }

  function showNotes() {
    notes.replaceChildren(...model.get("notes").map((text) => made("p", {}, text)));
  }

  function mark() {
    const chosen = model.get("chosen");
    [...body.rows].forEach((line, number) => {
      line.tabIndex = number === Math.max(chosen, 0) ? 0 : -1;
      line.setAttribute("aria-selected", String(number === chosen));
    });
  }

  function showBar() {
    const [pages, matching, total] = ["pages", "matching", "total"].map((name) => model.get(name).toLocaleString("en-US"));
    const single = model.get("pages") <= 1;
    count.textContent = `${single ? "" : `of ${pages}; `}${matching} of ${total} rows`;
    for (const each of [pager, back, next]) each.style.display = single ? "none" : "";
    if (active() !== filter) filter.value = model.get("filter");
    page.value = model.get("page");
    page.max = model.get("pages");
    const turning = [back, next].includes(active());
    back.disabled = model.get("page") <= 1;
    next.disabled = model.get("page") >= model.get("pages");
    if (turning) [active(), next, back, filter].find((each) => [back, next, filter].includes(each) && !each.disabled)?.focus();
    bar.style.display = model.get("bar") ? "" : "none";
    box.setAttribute("aria-label", model.get("label"));
    grid.setAttribute("aria-label", model.get("label"));
    grid.setAttribute("aria-rowcount", String(model.get("matching") + 1)); // with the head
  }

  let typed;
  filter.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => ask("filter", filter.value), 200);
  });
  filter.addEventListener("change", () => {
    clearTimeout(typed);
    if (filter.value !== model.get("filter")) ask("filter", filter.value);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(Math.max(model.get("chosen"), 0));
    event.stopPropagation();
  });
  page.addEventListener("change", () => turn(Number(page.value) || 1));
  back.addEventListener("click", () => turn(model.get("page") - 1));
  next.addEventListener("click", () => turn(model.get("page") + 1));
  const keys = {
    ArrowDown: () => choose(model.get("chosen") + 1),
    ArrowUp: () => choose(model.get("chosen") - 1),
    PageDown: () => turn(model.get("page") + 1),
    PageUp: () => turn(model.get("page") - 1),
    Home: () => choose(0),
    End: () => choose(model.get("cells").length - 1),
    Enter: activate,
    " ": activate,
  };
  // Notebook 7 hears keys on their way down from the document; only the window hears them before it.
  const press = (event) => {
    if (!event.composedPath().includes(body)) return;
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter" && model.get("chosen") < 0) choose(0);
    keys[event.key]();
  };
  window.addEventListener("keydown", press, true);

  // One change of the model comes as many events; the page is drawn once for all of them.
  const pending = new Set();
  const plan = (draw) => () => {
    if (!pending.size) queueMicrotask(() => { const due = [...pending]; pending.clear(); due.forEach((each) => each()); });
    pending.add(draw);
  };
  const watched = [
    ["columns", showHead], ["sort", showHead], ["cells", showRows], ["marks", showRows], ["empty", showRows], ["notes", showNotes],
    ["waits", showRows], ["first", showRows],
    ["chosen", mark], ["page", showBar], ["pages", showBar], ["matching", showBar], ["total", showBar], ["filter", showBar],
    ["label", showBar], ["bar", showBar], ["drawn", heard],
  ].map(([name, draw]) => [`change:${name}`, plan(draw)]);
  watched.forEach(([name, draw]) => model.on(name, draw));
  showHead();
  showRows();
  showNotes();
  showBar();
  return () => {
    clearTimeout(asked);
    window.removeEventListener("keydown", press, true);
    watched.forEach(([name, draw]) => model.off(name, draw));
  };
}
