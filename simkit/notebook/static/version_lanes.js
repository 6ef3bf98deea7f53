// Lanes of API versions over releases, with a line at the chosen release. It works without a kernel too.

const MOVES = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"]);

function made(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function render({ model, el }) {
  const slider = made("input", { type: "range", min: "0", step: "1", "aria-label": "release" });
  const output = made("output", { "aria-live": "polite" });
  const lanes = made("div", { class: "sk-lanes", role: "list" });
  const line = made("div", { class: "sk-now", "aria-hidden": "true" });
  const scale = made("div", { class: "sk-scale" });
  const scroll = made("div", { class: "sk-lanes-scroll", tabindex: "0", role: "group", "aria-label": "versions" }, lanes, line);
  const legend = made("div", { class: "sk-legend" }, ...["alpha", "beta", "stable", "deprecated"].map((phase) => made("span", { class: `sk-${phase}` }, phase)));
  el.replaceChildren(made("div", { class: "sk-timeline" }, made("label", { class: "sk-slider" }, output, slider), scale, scroll, legend));

  const releases = () => model.get("releases");
  const percent = (index) => (100 * index) / releases().length;

  function show() {
    slider.max = releases().length - 1;
    scale.replaceChildren(...releases().map((release) => made("span", {}, release)));
    lanes.replaceChildren(
      ...model.get("lanes").map((lane) => {
        const bars = lane.phases.map(([phase, start, end]) => {
          const bar = made("span", { class: `sk-phase sk-${phase}`, title: `${phase}: ${releases()[start]} to ${releases()[end - 1]}` });
          bar.style.left = `${percent(start)}%`;
          bar.style.width = `${percent(end) - percent(start)}%`;
          return bar;
        });
        const name = made("span", { class: "sk-lane-name", title: lane.name });
        name.textContent = lane.name;
        return made("div", { class: "sk-lane", role: "listitem" }, name, made("span", { class: "sk-lane-bars" }, ...bars));
      }),
    );
    move();
  }

  function move() {
    const now = Math.max(releases().indexOf(model.get("release")), 0);
    slider.value = now;
    slider.setAttribute("aria-valuetext", model.get("release"));
    output.textContent = `Release ${model.get("release")}`;
    line.style.left = `calc(var(--sk-names) + (100% - var(--sk-names)) * ${(now + 0.5) / releases().length})`;
    [...lanes.children].forEach((row, number) => {
      const lane = model.get("lanes")[number];
      const phase = lane.phases.find(([, start, end]) => start <= now && now < end);
      row.classList.toggle("sk-absent", !phase);
      row.setAttribute("aria-label", `${lane.name}: ${phase ? phase[0] : "not served"} at ${model.get("release")}`);
    });
  }

  slider.addEventListener("input", () => {
    model.set("release", releases()[Number(slider.value)]);
    model.save_changes();
    move();
  });
  // Notebook 7 hears keys on their way down from the document; only the window hears them before it.
  const press = (event) => {
    if (event.composedPath()[0] !== slider || event.ctrlKey || event.metaKey || event.altKey) return;
    if (MOVES.has(event.key)) event.stopPropagation();
  };
  window.addEventListener("keydown", press, true);
  model.on("change:lanes", show);
  model.on("change:releases", show);
  model.on("change:release", move);
  show();
  return () => {
    window.removeEventListener("keydown", press, true);
    model.off("change:lanes", show);
    model.off("change:releases", show);
    model.off("change:release", move);
  };
}

export default { render };
