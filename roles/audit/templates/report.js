// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
(function () {
  const all = (selector, inside) => Array.from((inside || document).querySelectorAll(selector));
  const byId = (name) => document.getElementById(name);
  const groups = all("#findings details.group");
  const list = byId("hostlist");
  const hosts = list ? Array.from(list.children) : [];
  const squares = all("a.square");
  const search = byId("search"), told = byId("told"), picked = byId("picked");
  const levels = all(".tools input[type=checkbox]");
  const words = new Map();
  const numbersOf = (text) => text.split(" ").filter(Boolean);
  const total = groups.reduce((sum, group) => sum + Number(group.querySelector(".number").textContent), 0);
  // pick: numbers of hosts, or null for all; its name is what the button shows.
  let pick = null, pickName = "", pickText = "";

  // What is closed is in <noscript>: to a browser with scripts that is one piece of text, and no element is made of it before
  // it is opened. All names in it are escaped, so that "<" begins an element of ours, and nothing else.
  const entities = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&#34;": '"', "&#39;": "'" };
  const plain = (html) => html.replace(/<[^>]*>/g, " ").replace(/&(?:lt|gt|amp|#34|#39);/g, (one) => entities[one]);

  function unfold(place) {
    for (const one of all("noscript", place)) if (!one.closest("details.rest")) one.outerHTML = one.textContent;
    for (const one of all(".copy[hidden]", place)) one.hidden = false;
  }

  function text(host) {
    if (!words.has(host)) {
      const folded = host.querySelector("noscript");
      words.set(host, (folded ? host.firstElementChild.textContent + " " + plain(folded.textContent) : host.textContent).toLowerCase());
    }
    return words.get(host);
  }

  // The rows of a code: those on the page, and those behind "more", of which each is made where it is shown first.
  const known = new Map(), STEP = 500;
  function rowsOf(group) {
    if (known.has(group)) return known.get(group);
    const code = group.firstElementChild.textContent;
    const rows = all("tr.finding", group).map((row) => ({ id: row.id, h: row.dataset.h, level: row.dataset.level, row, rest: false,
      words: (code + " " + row.textContent).toLowerCase(), fits: true }));
    const folded = group.querySelector("details.rest > noscript");
    const html = folded ? folded.textContent : "";
    for (const part of html.split(/(?=<tr class="finding" )/).slice(1)) {
      const own = part.slice(0, part.lastIndexOf("</tr>") + 5);
      const marks = own.match(/^<tr class="finding" id="([^"]*)" data-h="([^"]*)" data-level="([^"]*)"/);
      rows.push({ id: marks[1], h: marks[2], level: marks[3], html: own, rest: true, words: (code + " " + plain(own)).toLowerCase(), fits: true });
    }
    known.set(group, rows);
    return rows;
  }

  function rowOf(one) {
    if (!one.row) {
      const made = document.createElement("template");
      made.innerHTML = "<table><tbody>" + one.html + "</tbody></table>";
      one.row = made.content.querySelector("tr");
    }
    return one.row;
  }

  // Shows so many rows behind "more" that fit the filter; a button shows the next ones.
  function showRest(group, number) {
    const more = group.querySelector("details.rest");
    if (!more) return;
    let table = more.querySelector("table");
    if (!table) {
      table = document.createElement("table");
      table.className = "findings";
      table.append(group.querySelector("table.findings thead").cloneNode(true), document.createElement("tbody"));
      more.append(table);
    }
    const fits = rowsOf(group).filter((one) => one.rest && one.fits);
    table.tBodies[0].replaceChildren(...fits.slice(0, number).map(rowOf));
    more.firstElementChild.textContent = fits.length + " more";
    for (const one of all("button", more)) one.remove();
    if (fits.length <= number) return;
    const next = document.createElement("button");
    next.type = "button";
    next.textContent = "show " + Math.min(STEP, fits.length - number) + " of " + (fits.length - number) + " others";
    next.addEventListener("click", () => showRest(group, number + STEP));
    more.append(next);
  }

  function filter() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shownLevels = new Set(levels.filter((box) => box.checked).map((box) => box.value));
    const narrowed = wanted.length > 0 || pick !== null || shownLevels.size < levels.length;
    const hit = new Set();
    let shown = 0;
    for (const group of groups) {
      let inside = 0;
      for (const one of rowsOf(group)) {
        one.fits = shownLevels.has(one.level) && (pick === null || pick.has(one.h)) && wanted.every((word) => one.words.includes(word));
        if (!one.rest && one.row.hidden === one.fits) one.row.hidden = !one.fits;
        if (one.fits) { inside += 1; hit.add(one.h); }
      }
      shown += inside;
      group.hidden = inside === 0;
      group.querySelector(".number").textContent = String(inside);
    }
    // Few enough to read: show them, those behind "more" too.
    for (const group of groups) {
      const more = group.querySelector("details.rest");
      if (!group.hidden && (wanted.length || pick !== null) && shown <= 200) {
        if (shown <= 50) group.open = true;
        if (more) more.open = true;
      }
      if (more && more.open) showRest(group, STEP);
    }
    for (const host of hosts) {
      const mine = pick === null || pick.has(host.dataset.h);
      host.hidden = !(mine && (!wanted.length || hit.has(host.dataset.h) || wanted.every((word) => text(host).includes(word))));
    }
    if (pick !== null) for (const place of all("#do")) unfold(place);
    for (const item of all("#do [data-h]"))
      item.hidden = pick !== null && !numbersOf(item.dataset.h).some((one) => pick.has(one));
    for (const square of squares) {
      square.classList.toggle("on", pick !== null && pick.has(square.dataset.pick) && pick.size === 1);
      square.classList.toggle("off", narrowed && (pick === null ? !hit.has(square.dataset.pick) : !pick.has(square.dataset.pick)));
    }
    picked.hidden = pick === null;
    // Names come from anybody: as text, never as markup.
    picked.textContent = "only " + pickName + " \u2715";
    told.textContent = shown + " of " + total + " findings";
    keep(narrowed, shownLevels);
  }

  // What is filtered is in the address, to be passed on.
  function keep(narrowed, shownLevels) {
    const state = new URLSearchParams();
    if (search.value) state.set("q", search.value);
    if (pick !== null) { state.set("hosts", pickText); state.set("name", pickName); }
    if (shownLevels.size < levels.length) state.set("levels", Array.from(shownLevels).join(" "));
    if (narrowed) history.replaceState(null, "", "#?" + state);
    else if (location.hash.startsWith("#?")) history.replaceState(null, "", "#");
  }

  function choose(numbers, name) {
    const same = pick !== null && pickText === numbers;
    pick = same || !numbers ? null : new Set(numbersOf(numbers));
    pickText = same ? "" : numbers;
    pickName = same ? "" : name;
    filter();
    const one = pick !== null && pick.size === 1 && hosts.find((host) => pick.has(host.dataset.h));
    if (one) one.open = true;
  }

  // A host opens to everything about it: its findings, as rows of their tables.
  function fill(host) {
    if (host.dataset.filled) return;
    host.dataset.filled = "yes";
    text(host);
    unfold(host);
    const place = host.querySelector("ul.links");
    if (!place) return;
    const table = document.createElement("table"), body = document.createElement("tbody");
    table.className = "findings";
    const head = document.querySelector("#findings table.findings thead");
    if (head) table.append(head.cloneNode(true));
    table.append(body);
    const mine = groups.flatMap((group) => rowsOf(group).filter((one) => one.h === host.dataset.h));
    const add = (rows) => {
      for (const one of rows) {
        const row = rowOf(one), copy = row.cloneNode(true);
        copy.removeAttribute("id");
        copy.hidden = false;
        const cell = copy.querySelector("td.of"), link = document.createElement("a");
        link.href = "#" + row.id;
        link.textContent = row.id.slice(0, 5);
        cell.replaceChildren(link);
        body.append(copy);
      }
    };
    add(mine.slice(0, 50));
    if (table.tHead) table.tHead.rows[0].cells[2].textContent = "code";
    place.replaceWith(table);
    if (mine.length > 50) {
      const more = document.createElement("button");
      more.type = "button";
      more.textContent = mine.length - 50 + " more";
      more.addEventListener("click", () => { add(mine.slice(50)); more.remove(); });
      table.after(more);
    }
  }

  function sort(button) {
    const column = Number(button.dataset.sort);
    const down = button.getAttribute("aria-pressed") === "true" && !button.dataset.down;
    for (const one of all(".hosthead button")) { one.setAttribute("aria-pressed", "false"); delete one.dataset.down; }
    button.setAttribute("aria-pressed", "true");
    if (down) button.dataset.down = "yes";
    const value = (host) => Number(host.dataset.k.split(" ")[column]);
    const turn = down ? -1 : 1;
    const names = new Intl.Collator("en", { numeric: true });
    // Much first, but for names, outcomes and what is worst, which have an order of their own.
    const most = column === 4 || column === 5 || column === 7 ? -1 : 1;
    const order = (one, other) => turn * (column === 2 ? names.compare(one.dataset.zone, other.dataset.zone)
      : most * (value(one) - value(other))) || value2(one) - value2(other);
    const value2 = (host) => Number(host.dataset.k.split(" ")[1]);
    list.append(...hosts.sort(order));
  }

  // A link leads to a row that may be closed away.
  function reveal() {
    if (!location.hash || location.hash.startsWith("#?")) return;
    const name = decodeURIComponent(location.hash.slice(1));
    let place = byId(name);
    if (!place) place = behindMore(name);
    if (!place) return;
    for (let one = place; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    place.scrollIntoView({ block: "center" });
  }

  function behindMore(name) {
    for (const group of groups) {
      const rest = rowsOf(group).filter((one) => one.rest && one.fits), at = rest.findIndex((one) => one.id === name);
      if (at < 0) continue;
      showRest(group, Math.max(STEP, at + 1));
      return rest[at].row;
    }
    return null;
  }

  function copy(button) {
    const code = button.parentElement.querySelector("code");
    getSelection().selectAllChildren(code);
    const done = () => { button.textContent = "copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, () => { document.execCommand("copy"); done(); });
    else { document.execCommand("copy"); done(); }
  }

  function restore() {
    if (!location.hash.startsWith("#?")) return;
    const state = new URLSearchParams(location.hash.slice(2));
    search.value = state.get("q") || "";
    if (state.has("hosts")) {
      pickText = state.get("hosts");
      pickName = state.get("name") || "";
      pick = new Set(numbersOf(pickText));
    }
    if (state.has("levels")) for (const box of levels) box.checked = numbersOf(state.get("levels")).includes(box.value);
  }

  // A report of last week looks like that of today.
  for (const one of all("time.age")) {
    const minutes = Math.floor((Date.now() - Date.parse(one.dateTime)) / 60000);
    if (!(minutes >= 0)) continue;
    const [number, unit] = minutes < 60 ? [minutes, "minute"] : minutes < 2880 ? [Math.floor(minutes / 60), "hour"] : [Math.floor(minutes / 1440), "day"];
    const age = document.createElement("b");
    age.textContent = " (" + number + " " + unit + (number === 1 ? "" : "s") + " old)";
    age.className = minutes < 1440 ? "" : "bad";
    one.after(age);
  }

  let waiting = 0;
  // A page without findings has nothing to search in.
  if (search) search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  for (const box of levels) box.addEventListener("change", filter);
  // It does not bubble, but it is seen on its way down.
  document.addEventListener("toggle", (event) => {
    const one = event.target;
    if (!one.open) return;
    if (one.classList.contains("host")) fill(one);
    else if (one.matches("#findings details.rest")) { if (!one.querySelector("table")) showRest(one.closest("details.group"), STEP); }
    else if (!one.classList.contains("group")) unfold(one);
  }, true);
  document.addEventListener("click", (event) => {
    const target = event.target;
    const square = target.closest("[data-pick]");
    if (square) { event.preventDefault(); choose(square.dataset.pick, square.dataset.name); }
    else if (target.closest(".copy")) copy(target.closest(".copy"));
    else if (target.closest("[data-sort]")) sort(target.closest("[data-sort]"));
    // A host of another zone is hidden: its link shows all again.
    else if (target.closest("a[href^='#host-']") && pick !== null) choose("", "");
  });
  addEventListener("hashchange", reveal);
  if (search) picked.addEventListener("click", () => choose("", ""));
  if (search) byId("all").addEventListener("click", () => {
    const visible = groups.filter((one) => !one.hidden);
    const open = visible.some((one) => !one.open);
    for (const one of visible) one.open = open;
  });
  // On paper every row is to be read; a filter that is set stays.
  let before = [];
  addEventListener("beforeprint", () => {
    for (const group of groups) showRest(group, Infinity);
    for (const place of all("#servers")) unfold(place);
    before = all("#findings details.group:not([open]), #findings details.rest:not([open]), #servers details:not([open]), #events details:not([open])");
    for (const one of before) one.open = true;
    const cut = document.querySelector(".cut");
    if (cut) cut.textContent = hosts.length > 25 ? "The other " + (hosts.length - 25) + " hosts are on the page and in report.csv." : "";
  });
  addEventListener("afterprint", () => { for (const one of before) one.open = false; });
  for (const tool of all(".tools[hidden], .copy[hidden]")) tool.hidden = false;
  for (const button of all("[data-sort]")) button.disabled = false;
  if (search) restore();
  // Nothing is filtered yet: a thousand hosts need no look.
  if (search && (search.value || pick !== null || levels.some((box) => !box.checked))) filter();
  else if (search) told.textContent = total + " of " + total + " findings";
  reveal();
})();
