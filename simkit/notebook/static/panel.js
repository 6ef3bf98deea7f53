// A panel in the element of one widget: its parts are models, which the host of the widget hands out by their names.
// Nothing is used of the host but what anywidget documents, so that panels are the same in all notebooks.

const CONTROLS = "input, textarea, button, [tabindex='0']";
const REST = 100; // milliseconds in which sections are exchanged, one message after the other
const DRAWN = { box: drawBox, button: drawButton, field: drawField, graph: drawGraph, progress: drawProgress, sections: drawSections, table: drawTable, text: drawText };

// Draw now, and after each change of some values. What ends this goes to the other ends.
function follow({ model, ends }, names, draw) {
  for (const name of names) {
    model.on(`change:${name}`, draw);
    ends.push(() => model.off(`change:${name}`, draw));
  }
  draw();
}

function save(model, name, value) {
  if (model.get(name) === value) return;
  model.set(name, value);
  model.save_changes();
}

// Tell the kernel what was pressed, with what was typed: marimo may deliver values after messages.
function tell({ model, typed }, event) {
  model.send({ event, values: [...typed].map(([key, input]) => [key, input.value]) });
}

async function drawBox({ model, el, ...shared }) {
  const { manager, ends } = shared;
  const models = await Promise.all(model.get("children").map((name) => manager.get_model(name.slice("IPY_MODEL_".length))));
  if (ends.over) return;
  const places = models.map((part) => made("div", { class: part.get("look") || "sk-part" }));
  el.append(...places);
  models.forEach((part, number) => {
    const end = DRAWN[part.get("kind")]({ model: part, el: places[number], ...shared });
    if (typeof end === "function") ends.push(end);
  });
}

function drawSections(part) {
  const { model, el } = part;
  const buttons = model.get("names").map((name) => {
    const button = made("button", { type: "button", class: "sk-button" }, name);
    button.addEventListener("click", () => save(model, "chosen", name));
    return button;
  });
  const box = made("div", {});
  el.append(made("div", { class: "sk-row" }, ...buttons), box);
  const show = () => buttons.forEach((button, number) => {
    const chosen = button.textContent === model.get("chosen");
    button.setAttribute("aria-pressed", String(chosen));
    if (box.children[number]) box.children[number].hidden = !chosen;
  });
  follow(part, ["chosen"], show);
  drawBox({ ...part, el: box }).then(show);
}

function drawText(part) {
  follow(part, ["value"], () => { part.el.innerHTML = part.model.get("value"); });
}

function drawProgress(part) {
  const { model, el } = part;
  const bar = made("progress", { "aria-label": "progress" });
  el.append(bar);
  follow(part, ["value", "max", "hidden"], () => {
    bar.max = model.get("max");
    model.get("value") ? (bar.value = model.get("value")) : bar.removeAttribute("value");
    bar.style.visibility = model.get("hidden") ? "hidden" : "";
  });
}

function drawField(part) {
  const { model, el, typed } = part;
  const key = model.get("key");
  const [several, names] = [model.get("lines") > 1, `sk-names-${Math.random().toString(36).slice(2)}`];
  const list = made("datalist", { id: names });
  const input = several ? made("textarea", { rows: model.get("lines") }) : made("input", { type: "text", list: names });
  input.placeholder = model.get("placeholder");
  input.style.width = model.get("width");
  el.append(made("label", { class: "sk-field" }, made("span", {}, model.get("label")), input), list);
  follow(part, ["value"], () => {
    if (input.value === model.get("value")) return;
    input.value = model.get("value");
    typed.delete(key);
  });
  follow(part, ["options"], () => list.replaceChildren(...model.get("options").map((value) => made("option", { value }))));
  input.addEventListener("input", () => typed.set(key, input));
  input.addEventListener("change", () => save(model, "value", input.value));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter" || several) return;
    save(model, "value", input.value);
    tell(part, "enter");
  });
}

function drawButton(part) {
  const { model, el } = part;
  const button = made("button", { type: "button", class: `sk-button ${model.get("look")}` }, model.get("label"));
  el.replaceChildren(button);
  button.addEventListener("click", () => tell(part, "click"));
  follow(part, ["disabled"], () => { button.disabled = model.get("disabled"); });
}

function drawGraph(part) {
  const { model, el } = part;
  const waiting = new Map();
  const answered = ({ start, goal, proof }) => waiting.get(`${start} -> ${goal}`)?.(proof);
  const prove = (start, goal) => new Promise((done) => { waiting.set(`${start} -> ${goal}`, done); model.send({ prove: [start, goal] }); });
  let end = () => {};
  model.on("msg:custom", answered);
  follow(part, ["graph"], () => { end(); if (model.get("graph").nodes) end = mount(el, model.get("graph"), { prove }); });
  return () => { model.off("msg:custom", answered); end(); };
}

// A control may disable, hide or remove itself by what it does: the last change is undone, another section is shown.
// Browsers drop the focus then, and Tab begins at the top of the page; here the nearest control gets it instead.
function keepFocus(panel, ends) {
  const usable = (control) => control.isConnected && !control.disabled && control.getClientRects().length > 0;
  const follows = (one, other) => Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
  let last, places, due;

  // The control that takes the place of a lost one: one beside it, a row for a row, else the next one of the page.
  const nearest = (lost, place) => {
    const controls = [...panel.querySelectorAll(CONTROLS)].filter(usable);
    const later = controls.filter((each) => follows(lost.isConnected ? lost : place, each));
    const group = lost.closest(".sk-row");
    const beside = (each) => each.parentElement === lost.parentElement || (group && group.contains(each));
    const alike = (each) => each.tagName === "TR" && lost.tagName === "TR";
    return later.find(beside) ?? controls.find(beside) ?? later.find(alike) ?? later[0] ?? controls.at(-1);
  };
  const repair = () => {
    if (!last || usable(last)) return;
    const lost = last;
    last = null;
    if (![null, document.body, lost].includes(panel.getRootNode().activeElement)) return;
    nearest(lost, places.find((each) => each.isConnected))?.focus();
  };
  const observer = new MutationObserver(() => {
    clearTimeout(due);
    due = setTimeout(repair, REST);
  });
  observer.observe(panel, { subtree: true, childList: true, attributeFilter: ["class", "style", "disabled", "hidden"] });
  panel.addEventListener("focusin", ({ target }) => {
    last = target;
    places = [];
    for (let each = last.parentElement; each && each !== panel.parentElement; each = each.parentElement) places.push(each);
  });
  panel.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget ? !panel.contains(relatedTarget) : usable(target)) last = null; // whoever leaves wants to leave
  });
  ends.push(() => { clearTimeout(due); observer.disconnect(); });
}

function render({ model, el }) {
  const panel = made("div", { class: "sk-panel" });
  const ends = [];
  el.replaceChildren(panel);
  drawBox({ model, el: panel, manager: model.widget_manager, ends, typed: new Map() });
  keepFocus(panel, ends);
  return () => { ends.over = true; ends.forEach((end) => end()); };
}

export default { render };
