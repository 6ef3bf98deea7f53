// Keeps the focus of the keyboard in a panel, and tells readers of screens which section is shown.
// A control may disable, hide or remove itself by what it does: the last change is undone, another section is shown.
// Browsers drop the focus then, and Tab begins at the top of the page; here the nearest control gets it instead.

const CONTROLS = "input, textarea, button, [tabindex='0']";
const REST = 100; // milliseconds in which sections are exchanged, one message after the other

const usable = (control) => control.isConnected && !control.disabled && control.getClientRects().length > 0;
const follows = (one, other) => Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);

// The control that takes the place of a lost one: one beside it, a row for a row, else the next one of the page.
function nearest(panel, lost, place) {
  const controls = [...panel.querySelectorAll(CONTROLS)].filter(usable);
  const later = controls.filter((each) => follows(lost.isConnected ? lost : place, each));
  const beside = (each) => each.parentElement === lost.parentElement;
  const alike = (each) => each.tagName === "TR" && lost.tagName === "TR";
  return later.find(beside) ?? controls.find(beside) ?? later.find(alike) ?? later[0] ?? controls.at(-1);
}

function render({ el }) {
  let panel, last, places, due;

  const repair = () => {
    if (!last || usable(last)) return;
    const lost = last;
    last = null;
    if (![null, document.body, lost].includes(document.activeElement)) return;
    nearest(panel, lost, places.find((each) => each.isConnected))?.focus();
  };
  const tell = () => {
    for (const each of panel.querySelectorAll(".widget-toggle-button"))
      each.setAttribute("aria-pressed", String(each.classList.contains("mod-active")));
  };
  const observer = new MutationObserver(() => {
    tell();
    clearTimeout(due);
    due = setTimeout(repair, REST);
  });
  const watch = () => {
    panel = el.closest(".sk-panel");
    if (!panel) return;
    tell();
    observer.observe(panel, { subtree: true, childList: true, attributeFilter: ["class", "style", "disabled"] });
  };
  const enter = ({ target }) => {
    last = panel?.contains(target) ? target : null;
    if (!last) return;
    places = [];
    for (let each = last.parentElement; each && each !== panel.parentElement; each = each.parentElement) places.push(each);
  };
  const leave = ({ target, relatedTarget }) => {
    if (!relatedTarget && usable(target)) last = null; // whoever clicks beside all controls wants to leave
  };
  document.addEventListener("focusin", enter);
  document.addEventListener("focusout", leave);
  setTimeout(watch); // the panel is put into the page after its parts are drawn
  return () => {
    clearTimeout(due);
    observer.disconnect();
    document.removeEventListener("focusin", enter);
    document.removeEventListener("focusout", leave);
  };
}

export default { render };
