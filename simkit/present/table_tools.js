// Search, sort and copy for the tables of this page that are long: the rows themselves are in the page, as text.
for (const table of document.querySelectorAll("table.simkit[data-rows]:not([data-ready])")) {
  table.dataset.ready = "";
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const texts = new Map(rows.map((row) => [row, [...row.cells].map((cell) => cell.textContent)]));
  const made = (tag, attributes, ...inside) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...inside);
    return element;
  };
  const words = made("input", { type: "search", placeholder: "words in a row", "aria-label": "Search in the table" });
  const copy = made("button", { type: "button" }, "Copy");
  const count = made("span", { role: "status" });
  const box = made("div", { class: "simkit-rows", tabindex: "0", role: "group", "aria-label": "table of " + table.dataset.rows });
  table.before(made("div", { class: "simkit-tools" }, words, copy, count), box);
  box.append(table);
  if (box.nextElementSibling?.matches("p.simkit-unseen")) box.nextElementSibling.remove(); // here all rows are seen

  const matching = () => rows.filter((row) => !row.hidden);
  const show = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = texts.get(row).join(" ").toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    }
    const left = matching().length;
    count.textContent = left < rows.length ? `${left.toLocaleString("en")} of ${table.dataset.rows}` : table.dataset.rows;
  };
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const number = (text) => (/^-?[\d,]*\.?\d+(e[+-]?\d+)?$/i.test(text) ? Number(text.replaceAll(",", "")) : NaN);
  heads.forEach((head, place) => {
    const button = made("button", { type: "button", title: "sort by this column" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort || "none"];
      for (const one of heads) one.ariaSort = one === head ? next : "none";
      const [sign, value] = [next === "descending" ? -1 : 1, (row) => texts.get(row)[place]];
      const compare = (a, b) => sign * (number(a) - number(b) || order(a, b));
      body.append(...(next === "none" ? rows : [...rows].sort((a, b) => compare(value(a), value(b)))));
    });
  });
  words.addEventListener("input", show);
  words.addEventListener("keydown", (event) => event.stopPropagation());
  // Lines of cells between tabs, as spreadsheets paste them; a cell that one would execute gets an apostrophe.
  const plain = (text) => (/^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) && isNaN(number(text)) ? "'" : "") + text.replace(/\s+/g, " ");
  copy.addEventListener("click", async () => {
    const shown = [...body.rows].filter((row) => !row.hidden);
    const lines = [heads.map((head) => head.textContent), ...shown.map((row) => texts.get(row))];
    const text = lines.map((line) => line.map(plain).join("\t")).join("\n");
    const note = `${shown.length.toLocaleString("en")} rows`;
    try {
      await navigator.clipboard.writeText(text);
      count.textContent = `copied ${note}`;
    } catch {
      const area = made("textarea", { style: "position: fixed; opacity: 0" });
      area.value = text;
      box.append(area);
      area.select();
      count.textContent = document.execCommand("copy") ? `copied ${note}` : "this page may not copy";
      area.remove();
      copy.focus();
    }
  });
  show();
}
