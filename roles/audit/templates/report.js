// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
(function () {
  const findings = Array.from(document.querySelectorAll("#findings article"));
  const place = document.getElementById("findings");
  const byCode = Array.from(place.children);
  const homes = new Map(findings.map((item) => [item, item.parentNode]));
  const words = new Map();
  const search = document.getElementById("search");
  const told = document.getElementById("told");
  const severities = Array.from(document.querySelectorAll(".tools input[type=checkbox]"));
  let grouped = "code";
  let groups = byCode;

  function text(item) {
    if (!words.has(item)) words.set(item, item.textContent.toLowerCase());
    return words.get(item);
  }

  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = new Set(severities.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const item of findings) {
      const hit = levels.has(item.dataset.severity) && wanted.every((word) => text(item).includes(word));
      item.hidden = !hit;
      if (hit) shown += 1;
    }
    for (const group of groups) {
      const inside = group.querySelectorAll("article:not([hidden])").length;
      group.hidden = inside === 0;
      group.querySelector(".number").textContent = String(inside);
      // Found by a search, few enough to read: show them.
      if (wanted.length && shown <= 50) group.open = inside > 0;
    }
    told.textContent = shown + " of " + findings.length + " findings";
  }

  function group(kind) {
    if (kind === grouped) return;
    grouped = kind;
    for (const button of document.querySelectorAll("button[data-group]"))
      button.setAttribute("aria-pressed", String(button.dataset.group === kind));
    if (kind === "code") {
      for (const item of findings) homes.get(item).appendChild(item);
      groups = byCode;
    } else {
      const hosts = new Map();
      for (const item of findings) {
        const host = item.dataset.host;
        if (!hosts.has(host)) hosts.set(host, []);
        hosts.get(host).push(item);
      }
      groups = Array.from(hosts.keys()).sort().map((host) => {
        const made = document.createElement("details");
        made.className = "group";
        const summary = document.createElement("summary");
        const name = document.createElement("b");
        // Names come from anybody: as text, never as markup.
        name.textContent = host;
        const number = document.createElement("span");
        number.className = "number soft";
        summary.append(name, " ", number);
        const inside = document.createElement("div");
        inside.className = "inside";
        inside.append(...hosts.get(host));
        made.append(summary, inside);
        return made;
      });
    }
    place.replaceChildren(...groups);
    filter();
  }

  let waiting = 0;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  for (const box of severities) box.addEventListener("change", filter);
  for (const button of document.querySelectorAll("button[data-group]"))
    button.addEventListener("click", () => group(button.dataset.group));
  document.getElementById("all").addEventListener("click", () => {
    const open = groups.some((one) => !one.hidden && !one.open);
    for (const one of groups) one.open = open;
  });
  // On paper everything is to be read; a filter that is set stays.
  let before = [];
  addEventListener("beforeprint", () => {
    before = Array.from(document.querySelectorAll("details:not([open])"));
    for (const one of before) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of before) one.open = false; });
  for (const tool of document.querySelectorAll(".tools[hidden]")) tool.hidden = false;
  filter();
})();
