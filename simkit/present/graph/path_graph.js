// The escalation graph to walk in: drawn with sigma, searched here, with a table of the same paths beside it.
// `GraphLibrary` is the bundled library in front of this text. `mount` needs nothing but the document of the graph.

const ROWS = 200;
const MANY = 3000; // edges, above which a picture takes too long to find the one under the pointer, or to move with all of them
const FOLDED = 3; // as many alike neighbours become one node
const KINDS = {
  User: "users", Group: "groups", ServiceAccount: "service accounts", namespace: "whole namespaces", pod: "pods", node: "nodes",
  "node-identity": "node identities", accounts: "sets of service accounts", pods: "sets of pods", users: "sets of users",
  groups: "sets of groups", rules: "roles", roles: "sets of roles", secrets: "sets of secrets", set: "choices",
};
const COLOURS = { User: "blue", Group: "purple", ServiceAccount: "green", pod: "sky", node: "orange", "node-identity": "orange", everything: "critical", secrets: "yellow" };
const MEANT = { blue: "user", purple: "group", green: "service account", sky: "pod", orange: "node", yellow: "secrets", grey: "namespace, role, or one of several", critical: "cluster-admin" };

// Add a value to those of a key.
function gather(map, key, value) {
  if (map.has(key)) map.get(key).push(value);
  else map.set(key, [value]);
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

// The document as objects, and the searches over it.
class Ways {
  constructor(data) {
    this.nodes = data.nodes.map(([text, kind, namespace], id) => ({ id, text, kind, namespace }));
    this.steps = data.steps.map(([id, title, severity]) => ({ id, title, severity }));
    this.grants = data.grants.map(([binding, role, rule, subject]) => ({ binding, role, rule, subject }));
    const uses = data.uses.map(([step, hops, cost, needs, detail]) => ({ step: this.steps[step], hops, cost, needs, detail }));
    this.edges = data.edges.map(([source, target, use], id) => ({ id, source, target, ...uses[use] }));
    this.goals = data.goals.map(([text, ends]) => ({ text, ends }));
    this.starts = data.starts;
    this.plan = data.plan.map(([text, closed]) => ({ text, paths: closed.map(([goal, numbers]) => {
      const edges = numbers.map((number) => this.edges[number]);
      return { start: this.nodes[edges[0].source], goal: this.goals[goal], hops: edges.reduce((sum, edge) => sum + edge.hops, 0), edges };
    }) }));
    if (data.later) this.edges.length -= data.later; // those of the plan alone
    this.leading = new Set(this.edges.map((edge) => edge.source));
    this.into = this.nodes.map(() => []);
    for (const edge of this.edges) this.into[edge.target].push(edge);
    this.removed = new Set();
    this.withoutSteps = new Set();
  }

  usable(edge) {
    if (edge.step && this.withoutSteps.has(edge.step.title)) return false;
    return edge.needs.every((some) => some.some((grant) => !this.removed.has(this.grants[grant].binding)));
  }

  // For each node that can reach a goal its distance and the first edge of its best path.
  towards(goal) {
    const best = new Map(goal.ends.map((end) => [end, { hops: 0, cost: 0, edge: null }]));
    const waiting = new Heap();
    for (const end of goal.ends) waiting.push(0, 0, end);
    const done = new Set();
    while (waiting.size) {
      const [hops, cost, node] = waiting.pop();
      if (done.has(node)) continue;
      done.add(node);
      for (const edge of this.into[node]) {
        if (done.has(edge.source) || !this.usable(edge)) continue;
        const known = best.get(edge.source);
        const [far, dear] = [hops + edge.hops, cost + edge.cost];
        if (known && (known.hops < far || (known.hops === far && known.cost <= dear))) continue;
        best.set(edge.source, { hops: far, cost: dear, edge });
        waiting.push(far, dear, edge.source);
      }
    }
    return best;
  }

  path(best, start) {
    const edges = [];
    for (let at = best.get(start); at && at.edge; at = best.get(at.edge.target)) edges.push(at.edge);
    return edges;
  }

  // The best path of each subject to each goal, the shortest first.
  paths() {
    const found = [];
    for (const goal of this.goals) {
      const best = this.towards(goal);
      for (const start of this.starts) {
        const at = best.get(start);
        if (at && at.hops) found.push({ start: this.nodes[start], goal, hops: at.hops, edges: this.path(best, start) });
      }
    }
    return found.sort((a, b) => a.hops - b.hops || a.start.text.localeCompare(b.start.text));
  }
}

class Heap {
  constructor() {
    this.items = [];
  }
  get size() {
    return this.items.length;
  }
  push(...item) {
    this.items.push(item);
    for (let at = this.items.length - 1; at > 0; ) {
      const above = (at - 1) >> 1;
      if (!this.less(at, above)) break;
      this.swap(at, above);
      at = above;
    }
  }
  pop() {
    this.swap(0, this.items.length - 1);
    const item = this.items.pop();
    for (let at = 0; ; ) {
      const least = [2 * at + 1, 2 * at + 2].reduce((best, below) => (below < this.items.length && this.less(below, best) ? below : best), at);
      if (least === at) return item;
      this.swap(at, least);
      at = least;
    }
  }
  less(a, b) {
    const [one, other] = [this.items[a], this.items[b]];
    return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
  }
  swap(a, b) {
    [this.items[a], this.items[b]] = [this.items[b], this.items[a]];
  }
}

// What is drawn of some edges: nodes in columns by their distance to the goal, alike ones folded into one.
class Drawing {
  constructor(ways, paths, { every, fold, unfolded }) {
    this.depth = new Map();
    for (const path of paths) path.edges.forEach((edge, place) => this.at(edge.source, path.edges.length - place));
    for (const path of paths) this.at(path.edges[path.edges.length - 1].target, 0);
    this.edges = every ? ways.edges.filter((edge) => ways.usable(edge) && this.depth.has(edge.source) && this.depth.has(edge.target)) : [...new Set(paths.flatMap((path) => path.edges))];
    this.home = this.folded(ways, fold, unfolded);
    this.groups = new Map();
    for (const [node, name] of this.home) gather(this.groups, name, node);
    this.links = new Map();
    for (const edge of this.edges) {
      gather(this.links, `${this.home.get(edge.source)}>${this.home.get(edge.target)}`, edge);
    }
  }

  at(node, depth) {
    this.depth.set(node, Math.max(this.depth.get(node) || 0, depth));
  }

  // Nodes are alike if they are of one kind and lead to the same nodes, which were folded before them.
  folded(ways, fold, unfolded) {
    const home = new Map();
    const next = new Map();
    for (const edge of this.edges) gather(next, edge.source, edge.target);
    const columns = [];
    for (const [node, depth] of this.depth) (columns[depth] ||= []).push(node);
    for (const column of columns.filter(Boolean)) {
      const alike = new Map();
      for (const node of column) {
        const { kind, namespace } = ways.nodes[node];
        const leads = [...new Set((next.get(node) || []).map((target) => home.get(target) ?? target))].sort().join();
        const key = fold && this.depth.get(node) ? `${kind} ${fold === "namespace" ? namespace : ""} ${leads}` : `${node}`;
        gather(alike, key, node);
      }
      for (const [key, nodes] of alike) {
        const together = nodes.length >= FOLDED && !unfolded.has(key);
        for (const node of nodes) home.set(node, together ? key : `${node}`);
      }
    }
    return home;
  }

  // Columns from the goal at the right; in a column everything stands near what it leads to.
  places(width, height) {
    const columns = new Map();
    for (const [name, nodes] of this.groups) {
      const depth = Math.max(...nodes.map((node) => this.depth.get(node)));
      gather(columns, depth, name);
    }
    const next = new Map();
    for (const edge of this.edges) {
      gather(next, this.home.get(edge.source), this.home.get(edge.target));
    }
    const places = new Map();
    const depths = [...columns.keys()].sort((a, b) => a - b);
    for (const depth of depths) {
      const weigh = (name) => {
        const known = (next.get(name) || []).filter((one) => places.has(one)).map((one) => places.get(one).y);
        return known.length ? known.reduce((sum, y) => sum + y, 0) / known.length : 0.5;
      };
      const names = columns.get(depth).map((name) => [weigh(name), name]);
      names.sort((a, b) => a[0] - b[0] || a[1].localeCompare(b[1]));
      names.forEach(([, name], number) => {
        const shift = (depth % 2) / (2 * (names.length + 1));
        places.set(name, { above: depth % 2 === 0, x: -(depth / Math.max(depths.length - 1, 1)) * (width / height), y: (number + 1) / (names.length + 1) + shift });
      });
    }
    return places;
  }
}

function colourOf(element, name) {
  const probe = made("span", { style: `color: var(--sk-${name}); display: none` });
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export function mount(root, data, { proofs = {}, prove = null, folded = false } = {}) {
  const ways = new Ways(data);
  const every = ways.paths().length;
  const unfolded = new Set();
  let paths = [];
  let counts = "";
  let shown = [];
  let chosen = null; // the path that stands out
  let drawing = null;
  let view = null;
  let over = null;
  let drawn = 0; // the width of the picture
  const labels = []; // of the frame that is being drawn

  const field = (label, input) => made("label", {}, label, input);
  const names = `sk-names-${Math.random().toString(36).slice(2)}`;
  const from = made("input", { type: "search", list: names, placeholder: "any subject", "aria-label": "from" });
  const goal = made("select", { "aria-label": "to" }, ...ways.goals.map((one, number) => made("option", { value: number }, one.text)), made("option", { value: "" }, "any goal"));
  const fold = made("select", {}, ...[["kind", "similar nodes"], ["namespace", "by namespace"], ["", "nothing"]].map(([value, text]) => made("option", { value }, text)));
  const step = made("select", {}, made("option", { value: "" }, "all of them"), ...ways.plan.map(({ text, paths }, number) => made("option", { value: number }, `${number + 1}. ${text} (${paths.length.toLocaleString("en")})`)));
  const all = made("input", { type: "checkbox" });
  const fit = made("button", { type: "button" }, "Show all");
  const said = made("p", { class: "sk-said", role: "status" });
  const canvas = made("div", { class: "sk-canvas", role: "img", tabindex: "0" });
  const key = made("p", { class: "sk-keys" });
  const about = made("div", { class: "sk-about", "aria-live": "polite" });
  const steps = made("div", { class: "sk-ticks" });
  const bindings = made("div", { class: "sk-ticks" });
  const body = made("tbody", {});
  const more = made("p", { class: "sk-more" });
  root.replaceChildren(
    made("div", { class: "sk-graph" },
      made("datalist", { id: names }, ...ways.starts.map((start) => made("option", { value: ways.nodes[start].text }))),
      made("div", { class: "sk-controls" }, field("From", from), field("To", goal), ...(ways.plan.length ? [field("Paths closed by a step of the plan", step)] : []), field("Fold", fold), field("All steps", all), fit),
      said, canvas, key, about,
      made("details", {}, made("summary", {}, "Undo a binding, and see what closes"), bindings),
      made("details", {}, made("summary", {}, "Steps that an attacker may take"), steps),
      made("details", folded ? {} : { open: "" }, made("summary", {}, "The paths as a table"),
        made("div", { class: "sk-scroll" }, made("table", {}, made("thead", {}, made("tr", {}, ...["from", "to", "hops", "steps"].map((name) => made("th", { scope: "col" }, name)))), body)), more)));

  const words = (path) => path.edges.filter((edge) => edge.step).map((edge) => edge.step.title).join(", ");
  const asked = () => (step.value ? ways.plan[step.value].paths : paths).filter((path) => (goal.value === "" || path.goal === ways.goals[goal.value]) && path.start.text.toLowerCase().includes(from.value.trim().toLowerCase()));

  // Search again, after a change of what is possible.
  function search() {
    paths = ways.paths();
    const closed = every - paths.length;
    const undone = ways.removed.size || ways.withoutSteps.size;
    counts = undone
      ? `${plural(paths.length, "path")} of ${every.toLocaleString("en")} left in this graph; ${closed.toLocaleString("en")} closed. simkit what-if verifies a change on the whole cluster.`
      : !every ? "No path leads to these goals." : `${plural(every, "path")} of ${plural(ways.starts.length, "subject")}${data.partial ? "; the graph is large, so only the best paths are in it" : ""}`;
    show();
  }

  // What the plan has closed after a step, each path counted where it is closed.
  function planned() {
    const [number, before] = [Number(step.value), ways.plan.slice(0, Number(step.value)).reduce((sum, one) => sum + one.paths.length, 0)];
    const closes = ways.plan[number].paths.length;
    return `Step ${number + 1} of the plan closes ${plural(closes, "path")} of ${every.toLocaleString("en")}; ${(every - before - closes).toLocaleString("en")} are left after it.`;
  }

  function show() {
    said.textContent = step.value ? planned() : counts;
    shown = asked();
    if (chosen && !shown.includes(chosen)) chosen = shown.find((path) => path.start === chosen.start && path.goal === chosen.goal) || null;
    body.replaceChildren(...shown.slice(0, ROWS).map(row));
    more.textContent = shown.length > ROWS ? `... and ${plural(shown.length - ROWS, "path")} more` : shown.length ? "" : "No path is left.";
    draw();
    tell();
  }

  function row(path) {
    const open = made("button", { type: "button", class: "sk-open" }, path.start.text);
    open.addEventListener("click", () => choose(path));
    const cells = [open, path.goal.text, path.hops, words(path)].map((value) => made("td", {}, value));
    const line = made("tr", path === chosen ? { "aria-selected": "true" } : {}, ...cells);
    return line;
  }

  function choose(path) {
    chosen = path;
    show();
    canvas.scrollIntoView({ block: "nearest" });
  }

  const evidence = (edge) => edge.needs.map((some) => {
    const grant = ways.grants[some[0]];
    return `${grant.binding} (${grant.role}, rule ${grant.rule}) grants it to ${grant.subject}${some.length > 1 ? `, and ${plural(some.length - 1, "other grant")} too` : ""}`;
  });

  function stepItem(edge) {
    const title = edge.step ? `${edge.step.title}${edge.detail ? ` (${edge.detail})` : ""}` : "Chooses one of them";
    const item = made("li", {}, made("b", {}, title), ` \u2192 ${ways.nodes[edge.target].text}`);
    if (edge.step) item.append(" ", made("span", { class: "sk-chip", title: "the id of the escalation primitive" }, edge.step.id));
    for (const line of evidence(edge)) item.append(made("div", { class: "sk-by" }, line));
    return item;
  }

  // What the chosen path, or what the pointer is on, means.
  function tell() {
    if (over) {
      about.replaceChildren(over);
      return;
    }
    if (!chosen) {
      about.replaceChildren(made("p", {}, "Choose a path in the table, or a node: its best path is shown step by step."));
      return;
    }
    const pair = `${chosen.start.text} -> ${chosen.goal.text}`;
    const proof = made("div", { class: "sk-proof" });
    if (proofs[pair]) proof.append(...proofOf(proofs[pair]));
    else if (prove) {
      const button = made("button", { type: "button" }, "Prove it on a fork");
      button.addEventListener("click", () => {
        button.disabled = true;
        proof.append(made("p", {}, "Executing the path as the attacker..."));
        prove(ways.starts.indexOf(chosen.start.id), chosen.goal.text).then((found) => { proofs[pair] = found; tell(); });
      });
      proof.append(button);
    }
    about.replaceChildren(made("p", {}, made("b", {}, pair), `: ${plural(chosen.hops, "hop")}`), made("ol", {}, ...chosen.edges.map(stepItem)), proof);
  }

  // A recorded proof: its verdict, and each request with who sent it and what was answered or assumed.
  function proofOf({ verdict, requests }) {
    const items = requests.map(({ actor, request, status, message, assumption }) => {
      const item = made("li", {}, made("span", { class: "sk-by" }, actor), " ", made("code", {}, request));
      if (request) item.append(` \u2192 ${status} ${message}`);
      if (assumption) item.append(made("div", { class: "sk-by" }, `Assumed: ${assumption}`));
      return item;
    });
    return [made("p", {}, "Executed on a fork: ", made("b", {}, verdict)), made("ol", {}, ...items)];
  }

  function draw() {
    drawn = canvas.clientWidth;
    if (!drawn) { // JupyterLab hides everything while it changes its theme, perhaps for less than a frame
      requestAnimationFrame(() => { if (canvas.clientWidth && !drawn) draw(); });
      return;
    }
    drawing = new Drawing(ways, chosen && from.value ? [chosen] : shown, { every: all.checked, fold: fold.value, unfolded });
    const width = canvas.clientWidth || 800;
    const places = drawing.places(width, canvas.clientHeight || 480);
    const graph = new GraphLibrary.MultiDirectedGraph();
    const known = new Map(); // a colour is asked of the page once for each drawing
    const ink = (name) => known.get(name) ?? known.set(name, colourOf(canvas, name)).get(name);
    for (const [name, members] of drawing.groups) {
      const node = ways.nodes[members[0]];
      const label = members.length > 1 ? `${members.length} ${KINDS[node.kind] || `of kind ${node.kind}`}${fold.value === "namespace" && node.namespace ? ` in ${node.namespace}` : ""}` : node.text;
      const end = !members.some((id) => ways.leading.has(id));
      graph.addNode(name, { ...places.get(name), label, forceLabel: end, size: end ? 12 : 5 + 2 * Math.log2(members.length), color: ink(COLOURS[node.kind] || "grey") });
    }
    const kinds = new Set([...drawing.groups.values()].map(([id]) => COLOURS[ways.nodes[id].kind] || "grey"));
    key.replaceChildren(...Object.entries(MEANT).filter(([name]) => kinds.has(name)).map(([name, text]) =>
      made("span", { class: "sk-key" }, made("span", { style: `background: var(--sk-${name})` }), text)));
    for (const [name, edges] of drawing.links) {
      const [source, target] = [drawing.home.get(edges[0].source), drawing.home.get(edges[0].target)];
      if (source === target) continue;
      graph.addDirectedEdgeWithKey(name, source, target, { label: "", size: 1 + Math.log2(edges.length), color: ink("grey"), type: "arrow" });
    }
    canvas.setAttribute("aria-label", `The escalation graph: ${plural(graph.order, "node")}, ${plural(graph.size, "step")}. The table below lists its paths.`);
    if (view) view.kill();
    view = null;
    try {
      view = new GraphLibrary.Sigma(new GraphLibrary.MultiDirectedGraph(), canvas, settings(graph, ink));
      view.on("beforeRender", () => { labels.length = 0; });
      view.on("afterRender", write);
      const [xs, ys] = ["x", "y"].map((axis) => graph.mapNodes((_, node) => node[axis]));
      const room = (Math.max(...xs) - Math.min(...xs) || 1) * 0.04; // for half a label at both sides
      view.setCustomBBox({ x: [Math.min(...xs) - room, Math.max(...xs) + room], y: [Math.min(0, ...ys), Math.max(1, ...ys)] });
      view.setGraph(graph); // after all else: whatever is set later draws everything again
    } catch (error) {
      canvas.replaceChildren(made("p", { class: "sk-more" }, "This browser does not support WebGL. The table below lists the same paths."));
      return;
    }
    listen(graph);
  }

  function settings(graph, ink) {
    const marked = new Set();
    const numbers = new Map(); // of the steps, as they are listed below the graph
    if (chosen) chosen.edges.forEach((edge, number) => {
      const [source, target] = [drawing.home.get(edge.source), drawing.home.get(edge.target)];
      marked.add(source).add(target);
      numbers.set(`${source}>${target}`, number + 1);
    });
    const [text, paper, strong, pale] = ["ink", "paper", "vermilion", "line"].map(ink);
    const font = { labelFont: "system-ui, sans-serif", labelSize: 13, labelColor: { color: text }, edgeLabelFont: "system-ui, sans-serif", edgeLabelSize: 12, edgeLabelColor: { color: text } };
    return {
      ...font, allowInvalidContainer: true, enableEdgeEvents: graph.size <= MANY, renderEdgeLabels: Boolean(chosen), zIndex: true, stagePadding: 20,
      labelRenderedSizeThreshold: 0, labelDensity: 2, labelGridCellSize: 60, hideEdgesOnMove: graph.size > MANY, maxCameraRatio: 4,
      defaultDrawNodeLabel: (context, node, drawn) => { if (node.label) labels.push({ context, node, drawn, text, paper }); },
      defaultDrawNodeHover: (context, node, drawn) => plate(context, node, drawn, text, paper),
      nodeReducer: (name, node) => (marked.size ? (marked.has(name) ? { ...node, forceLabel: true, zIndex: 1 } : { ...node, color: pale, label: "" }) : node),
      edgeReducer: (name, edge) => (numbers.has(name) ? { ...edge, label: `${numbers.get(name)}`, color: strong, size: 3, forceLabel: true, zIndex: 1 } : marked.size ? { ...edge, size: 0.5 } : edge),
    };
  }

  // Labels with a rim of paper, the important ones first: one that would cover another goes to the other side of its node, or waits for a closer look.
  function write() {
    const taken = [];
    const free = (box) => taken.every((other) => box.x > other.x + other.width || other.x > box.x + box.width || Math.abs(box.y - other.y) > box.height);
    labels.sort((a, b) => Boolean(b.node.forceLabel) - Boolean(a.node.forceLabel) || b.node.size - a.node.size);
    for (const { context, node, drawn, text, paper } of labels.splice(0)) {
      context.font = `${drawn.labelSize}px ${drawn.labelFont}`;
      const width = context.measureText(node.label).width;
      const x = Math.max(2, Math.min(node.x - width / 2, canvas.clientWidth - width - 2));
      const sides = [node.y - node.size - 4, node.y + node.size + drawn.labelSize].map((y) => ({ x, y, width, height: drawn.labelSize }));
      const box = (node.above ? sides : sides.reverse()).find(free) || (node.forceLabel ? sides[0] : null);
      if (!box) continue;
      taken.push(box);
      Object.assign(context, { strokeStyle: paper, lineWidth: 4, lineJoin: "round", fillStyle: text });
      context.strokeText(node.label, box.x, box.y);
      context.fillText(node.label, box.x, box.y);
    }
  }

  function plate(context, node, drawn, text, paper) {
    context.font = `${drawn.labelSize}px ${drawn.labelFont}`;
    const width = context.measureText(node.label || "").width;
    context.fillStyle = paper;
    context.strokeStyle = text;
    context.beginPath();
    context.rect(node.x + node.size + 1, node.y - drawn.labelSize / 2 - 4, width + 8, drawn.labelSize + 8);
    context.fill();
    context.stroke();
    context.fillStyle = text;
    context.fillText(node.label || "", node.x + node.size + 5, node.y + drawn.labelSize / 3);
  }

  function listen(graph) {
    const leave = () => { over = null; tell(); };
    view.on("enterNode", ({ node }) => {
      const members = drawing.groups.get(node).map((id) => ways.nodes[id].text);
      const listed = members.slice(0, 12).join(", ") + (members.length > 12 ? ` and ${members.length - 12} more` : "");
      over = made("p", {}, made("b", {}, graph.getNodeAttribute(node, "label")), members.length > 1 ? `: ${listed}. Click to unfold.` : ". Click for its best path.");
      tell();
    });
    view.on("leaveNode", leave);
    view.on("enterEdge", ({ edge }) => { over = made("ul", {}, ...drawing.links.get(edge).slice(0, 4).map(stepItem)); tell(); });
    view.on("leaveEdge", leave);
    view.on("clickEdge", ({ edge }) => pick((path) => path.edges.some((one) => drawing.links.get(edge).includes(one))));
    view.on("clickStage", () => { over = null; chosen = null; show(); });
    view.on("clickNode", ({ node }) => {
      over = null;
      const members = drawing.groups.get(node);
      if (members.length > 1) { unfolded.add(node); show(); }
      else pick((path) => path.edges.some((edge) => edge.source === members[0]));
    });
  }

  // Choose the first path for which a test holds: of a node or an edge that was clicked.
  function pick(test) {
    const found = shown.find(test);
    if (found) { over = null; choose(found); }
  }

  function ticks(element, items, off) {
    element.replaceChildren(...items.map(([name, note, invert]) => {
      const box = made("input", { type: "checkbox" });
      box.checked = Boolean(invert);
      box.addEventListener("change", () => { off(name, invert ? !box.checked : box.checked); search(); });
      return made("label", {}, box, name, made("small", {}, note));
    }));
  }

  const used = new Map();
  for (const path of ways.paths()) {
    const needed = new Set(path.edges.flatMap((edge) => edge.needs.flatMap((some) => [...new Set(some.map((grant) => ways.grants[grant].binding))])));
    for (const name of needed) used.set(name, (used.get(name) || 0) + 1);
  }
  const put = (set) => (name, off) => (off ? set.add(name) : set.delete(name));
  ticks(bindings, [...used].sort((a, b) => b[1] - a[1]).map(([name, count]) => [name, ` on ${plural(count, "path")}`]), put(ways.removed));
  ticks(steps, [...new Set(ways.steps.map((step) => step.title))].sort().map((title) => [title, "", true]), put(ways.withoutSteps));

  from.addEventListener("input", show);
  step.addEventListener("change", () => { goal.value = ""; from.value = ""; });
  for (const input of [goal, step, fold, all]) input.addEventListener("change", () => { unfolded.clear(); show(); });
  fit.addEventListener("click", () => { chosen = null; from.value = step.value = ""; goal.value = "0"; unfolded.clear(); show(); });
  canvas.addEventListener("keydown", (event) => {
    const camera = view && view.getCamera();
    const [x, y] = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key] || [0, 0];
    if (!camera || (!x && !y && event.key !== "+" && event.key !== "-")) return;
    event.preventDefault();
    const { x: left, y: top, ratio } = camera.getState();
    const place = { x: left + x * ratio, y: top + y * ratio, ratio: event.key === "+" ? ratio / 1.3 : event.key === "-" ? ratio * 1.3 : ratio };
    camera.animate(place, { duration: 100 });
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", draw);
  // A button of the page, JupyterLab and VS Code change the theme by an attribute of the page or its body.
  const themed = new MutationObserver(draw);
  for (const element of [document.documentElement, document.body]) themed.observe(element, { attributeFilter: ["data-theme", "data-jp-theme-light", "class"] });
  // A notebook puts the element on its page after this; then, and when a window changes, there is another width to fill.
  const sized = new ResizeObserver(() => {
    if (canvas.clientWidth && Math.abs(canvas.clientWidth - drawn) > 20) draw();
  });
  sized.observe(canvas);
  search();
  return () => { sized.disconnect(); themed.disconnect(); dark.removeEventListener("change", draw); if (view) view.kill(); };
}
