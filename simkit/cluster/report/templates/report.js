"use strict";
(function () {
  var root = document.documentElement, all = function (q, from) { return Array.prototype.slice.call((from || document).querySelectorAll(q)); };
  document.getElementById("theme").addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  var form = document.getElementById("filters"), rows = all("[data-f]"), groups = all("[data-g]"), shown = document.getElementById("shown");
  var ranks = { critical: 4, high: 3, medium: 2, low: 1, info: 0 };
  rows.forEach(function (row, at) { row.dataset.at = at; row.words = row.textContent.toLowerCase(); });
  function value(name) { return form.elements[name].value.trim().toLowerCase(); }
  function filter() {
    var levels = all("input[name=level]:checked", form).map(function (box) { return box.value; });
    var words = value("words").split(/\s+/).filter(Boolean), subject = value("subject"), count = 0;
    rows.forEach(function (row) {
      var fits = levels.indexOf(row.dataset.f) >= 0 && (!value("namespace") || row.dataset.n === form.elements.namespace.value) &&
        (!value("check") || row.dataset.c === form.elements.check.value) && (!value("nature") || row.dataset.o === form.elements.nature.value) &&
        (!subject || row.dataset.s.toLowerCase().indexOf(subject) >= 0) && words.every(function (word) { return row.words.indexOf(word) >= 0; });
      row.hidden = !fits;
      count += fits ? 1 : 0;
    });
    groups.forEach(function (group) {
      var left = all("[data-f]:not([hidden])", group).length;
      group.hidden = !left;
      group.querySelector(".left").textContent = left;
    });
    shown.textContent = count + " of " + rows.length + " findings are shown";
  }
  function sort() {
    var by = form.elements.sort.value;
    groups.forEach(function (group) {
      var box = group.querySelector(".in");
      all("[data-f]", group).sort(function (a, b) {
        if (by === "namespace") return a.dataset.n.localeCompare(b.dataset.n) || a.dataset.at - b.dataset.at;
        if (by === "subject") return a.dataset.s.localeCompare(b.dataset.s) || a.dataset.at - b.dataset.at;
        return ranks[b.dataset.f] - ranks[a.dataset.f] || a.dataset.at - b.dataset.at;
      }).forEach(function (row) { box.appendChild(row); });
    });
  }
  form.addEventListener("input", filter);
  form.elements.sort.addEventListener("change", sort);
  form.addEventListener("reset", function () { setTimeout(function () { filter(); sort(); }); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  var ways = all("#paths details[id]"), through = document.getElementById("through");
  function lead(place) {
    var count = 0;
    ways.forEach(function (way) {
      way.hidden = !!place && !all("[data-through]", way).some(function (button) { return button.dataset.through === place; });
      count += way.hidden ? 0 : 1;
    });
    all("#paths > .more").forEach(function (rest) { rest.open = rest.open || !!place; });
    through.hidden = !place;
    through.querySelector("span").textContent = place ? count + " of " + ways.length + " paths lead through " + place + "." : "";
    if (place) through.scrollIntoView({ block: "center" });
  }
  all("[data-through]").forEach(function (button) { button.addEventListener("click", function () { lead(button.dataset.through); }); });
  through.querySelector("button").addEventListener("click", function () { lead(""); });
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.dataset.f && target.hidden) { form.reset(); all("[data-f]").forEach(function (row) { row.hidden = false; }); groups.forEach(function (group) { group.hidden = false; }); }
    if (ways.indexOf(target) >= 0 && target.hidden) lead("");
    for (var one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target.scrollIntoView();
  }
  all("a[data-level]").forEach(function (link) {
    link.addEventListener("click", function () {
      all("input[name=level]", form).forEach(function (box) { box.checked = box.value === link.dataset.level; });
      filter();
      groups.forEach(function (group) { group.open = !group.hidden; });
    });
  });
  all("a[data-namespace]").forEach(function (link) {
    link.addEventListener("click", function () {
      form.elements.namespace.value = link.dataset.namespace;
      filter();
      groups.forEach(function (group) { group.open = !group.hidden; });
    });
  });
  all("button[data-open]").forEach(function (button) {
    button.addEventListener("click", function () { groups.forEach(function (group) { group.open = button.dataset.open === "yes"; }); });
  });
  addEventListener("hashchange", reveal);
  var printed = "section > .more, #causes > [data-full], #plan > details, #findings > .group, [data-f=critical], [data-f=high]";
  addEventListener("beforeprint", function () { all("details").forEach(function (one) { one.wasOpen = one.open; one.open = one.open || one.matches(printed); }); });
  addEventListener("afterprint", function () { all("details").forEach(function (one) { one.open = one.wasOpen; }); });
  reveal();
})();
