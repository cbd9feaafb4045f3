// The list is made here, from summaries; the parts of a graph come as HTML. Both are kept
// up to date by server-sent events, while the page is visible.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const list = $("#graphs"), find = $("#find"), sort = $("#sort"), detail = $("#detail");
  const base = location.pathname;
  // The states in the order of their urgency, with their signs.
  const signs = { failed: "✗", degraded: "✗", incomplete: "▸", deleting: "−", progressing: "▸", pending: "·", suspended: "‖", new: "+", complete: "✓", ready: "✓" };
  const order = Object.keys(signs);
  const graphs = new Map(); // by namespace/name: its summary and its row
  let wanted = "", opened = "", active = "", complete = false, arranging = 0, stale = false;

  const say = (text) => { $("#said").textContent = text; };
  const show = (element, text) => {
    element.hidden = !text;
    if (element.textContent !== text) element.textContent = text;
  };

  // ---- The list

  const cell = (row, name) => {
    const span = document.createElement("span");
    span.className = name;
    row.append(span);
    return span;
  };

  const makeRow = (key) => {
    const row = document.createElement("li");
    row.role = "option";
    row.tabIndex = -1;
    row.dataset.key = key;
    row.ariaSelected = String(key === opened);
    return { row, mark: cell(row, "mark"), name: cell(row, "name"), nodes: cell(row, "nodes"), about: cell(row, "about") };
  };

  const fill = (key, g) => {
    const entry = graphs.get(key) || makeRow(key);
    const nodes = g.ready < 0 ? (g.nodes ? `${g.nodes} objects` : "") : `${g.ready}/${g.nodes}`;
    const about = [g.state, g.source, g.message].filter(Boolean).join(" · ");
    entry.row.className = g.state;
    entry.mark.textContent = signs[g.state] || "?";
    entry.mark.ariaHidden = "true";
    entry.name.textContent = list.dataset.namespace === g.namespace ? g.name : key;
    entry.nodes.textContent = nodes;
    entry.about.textContent = about;
    entry.row.ariaLabel = `${key}, ${g.state}${g.ready < 0 ? "" : `, ${g.ready} of ${g.nodes} nodes ready`}${g.source ? `, ${g.source}` : ""}${g.message ? `: ${g.message}` : ""}`;
    graphs.set(key, Object.assign(entry, { graph: g, text: `${key} ${about}`.toLowerCase() }));
  };

  const rank = (g) => { const i = order.indexOf(g.state); return i < 0 ? 0 : i; };
  const byName = (a, b) => a.row.dataset.key < b.row.dataset.key ? -1 : 1;
  const orders = {
    state: (a, b) => rank(a.graph) - rank(b.graph) || byName(a, b),
    name: byName,
    changed: (a, b) => (b.graph.changed || "").localeCompare(a.graph.changed || "") || byName(a, b),
  };

  const visible = () => [...list.children].filter((row) => !row.hidden);

  // arrange sorts and filters the rows.
  const arrange = () => {
    arranging = 0;
    stale = false;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const entries = [...graphs.values()].sort(orders[sort.value]);
    const counts = {};
    let shown = 0;
    for (const entry of entries) {
      const found = words.every((word) => entry.text.includes(word));
      if (found) counts[entry.graph.state] = (counts[entry.graph.state] || 0) + 1;
      entry.row.hidden = !found || Boolean(wanted && entry.graph.state !== wanted);
      if (!entry.row.hidden) shown++;
    }
    if (entries.length !== list.children.length || entries.some((entry, i) => list.children[i] !== entry.row)) {
      const focused = list.contains(document.activeElement) ? document.activeElement : null;
      list.replaceChildren(...entries.map((entry) => entry.row));
      if (focused?.isConnected) focused.focus({ preventScroll: true });
    }
    chips(counts);
    const none = complete ? "There are no graphs." : $("#problem").hidden ? "Reading the graphs…" : "The graphs can't be read.";
    $("#count").textContent = graphs.size ? `${shown} of ${graphs.size} graphs` : none;
    rove();
    const failed = [...graphs.values()].filter((entry) => entry.graph.state === "failed").length;
    document.title = failed ? `${failed} failed · Pequod` : "Pequod";
  };

  const chips = (counts) => {
    const box = $("#states");
    for (const state of order) {
      let chip = $(`[data-state="${state}"]`, box);
      if (!counts[state] && wanted !== state) { chip?.remove(); continue; }
      if (!chip) {
        chip = document.createElement("button");
        chip.type = "button";
        chip.className = `chip ${state}`;
        chip.dataset.state = state;
        const after = [...box.children].find((other) => order.indexOf(other.dataset.state) > order.indexOf(state));
        box.insertBefore(chip, after || null);
      }
      chip.textContent = `${signs[state]} ${counts[state] || 0} ${state}`;
      chip.ariaPressed = String(wanted === state);
    }
  };

  // Rows don't move while the focus is in the list: they are sorted again
  // when the focus leaves it.
  const soon = () => {
    if (list.contains(document.activeElement)) { stale = true; return; }
    arranging ||= setTimeout(arrange, 100);
  };

  // One row of the list can be reached with Tab, the others with arrows.
  const rove = (to) => {
    const rows = visible();
    const row = to || rows.find((r) => r.dataset.key === active) || rows[0];
    for (const other of list.querySelectorAll("[tabindex='0']")) if (other !== row) other.tabIndex = -1;
    if (!row) return;
    active = row.dataset.key;
    row.tabIndex = 0;
  };

  const step = (event) => {
    const rows = visible(), at = rows.indexOf(document.activeElement);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: rows.length - 1 };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      location.hash = encodeURI(document.activeElement.dataset.key);
      return;
    }
    if (!(event.key in moves) || at < 0) return;
    event.preventDefault();
    const row = rows[Math.max(0, Math.min(rows.length - 1, moves[event.key]))];
    rove(row);
    row.focus();
  };

  const update = (u) => {
    const changed = [];
    for (const g of u.graphs || []) {
      const key = `${g.namespace}/${g.name}`, old = graphs.get(key)?.graph;
      if (complete && old?.state !== g.state) changed.push(`${key}: ${g.state}`);
      fill(key, g);
    }
    for (const key of u.gone || []) { graphs.get(key)?.row.remove(); graphs.delete(key); changed.push(`${key}: gone`); }
    if (changed.length) say(changed.length > 3 ? `${changed.length} graphs changed` : changed.join("; "));
    complete = u.complete;
    show($("#problem"), u.problem ? `${u.problem}; trying again. The list may be out of date.` : "");
    if (opened) files();
    soon();
  };

  // ---- One graph

  const files = () => {
    if ($("#files")) $("#files").hidden = !graphs.get(opened)?.graph.files;
  };

  // fit shrinks a drawing that is somewhat too wide. A wider one is scrolled: its text would
  // become too small to read.
  const smallest = 0.75;
  const fit = () => {
    const svg = $("#drawing svg");
    if (!svg) return;
    const { width, height } = svg.viewBox.baseVal;
    const scale = Math.min(1, Math.max(smallest, svg.parentElement.clientWidth / width));
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  };
  new ResizeObserver(fit).observe($("#drawing"));

  // replace shows a part again. The focus stays at the element with the same place in it.
  const replace = ({ id, html }) => {
    const part = $("#" + id);
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const href = focused?.getAttribute("href"), name = focused?.id, scroller = $(".scroll", part);
    const at = scroller && [scroller.scrollLeft, scroller.scrollTop];
    part.innerHTML = html;
    if (id === "drawing") fit();
    const again = $(".scroll", part);
    if (at && again) again.scrollTo(...at);
    if (!focused) return;
    const next = href ? $(`[href="${CSS.escape(href)}"]`, part) : name ? document.getElementById(name) : again;
    next?.focus({ preventScroll: true });
  };

  const open = (key, focus) => {
    opened = key;
    for (const { row } of graphs.values()) row.ariaSelected = String(row.dataset.key === key);
    detail.hidden = !key;
    $("#empty").hidden = Boolean(key);
    graph.restart();
    if (!key) return;
    $("#title").textContent = key;
    for (const id of ["summary", "drawing", "nodes", "outputs", "history", "events"]) $("#" + id).textContent = "";
    $("#summary").textContent = "Reading the graph…";
    $("#content").hidden = true;
    show($("#trouble"), "");
    if ($("#diff")) { $("#diff").textContent = ""; $("#compared").textContent = ""; }
    files();
    detail.scrollTop = 0;
    if (focus) $("#title").focus();
  };

  const close = () => {
    const row = graphs.get(opened)?.row;
    history.pushState(null, "", base);
    open("");
    if (row && !row.hidden) { rove(row); row.focus(); } else find.focus();
  };

  const compare = async () => {
    const key = opened;
    $("#compared").textContent = "Comparing…";
    let text, ok = false;
    try {
      const answer = await fetch(`${base}graphs/${key}/diff`);
      text = await answer.text();
      ok = answer.ok;
    } catch {
      text = "pequod ui does not answer";
    }
    if (key !== opened) return;
    if (ok) $("#diff").innerHTML = text; else $("#diff").textContent = text;
    $("#compared").textContent = ok ? `Compared at ${new Date().toLocaleTimeString()}.` : "";
  };

  // ---- Connections

  // A stream is open while the page is visible and there is something to read.
  const stream = (address, handlers, state) => {
    let source = null;
    const stop = () => { source?.close(); source = null; };
    const start = () => {
      stop();
      const url = address();
      if (!url || document.hidden) return;
      source = new EventSource(url);
      source.onopen = () => state(true);
      source.onerror = () => {
        state(false);
        // The browser does not try again after an answer that is no stream.
        if (source?.readyState === EventSource.CLOSED) { stop(); setTimeout(start, 3000); }
      };
      for (const [name, handle] of Object.entries(handlers)) source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    };
    return { restart: start, stop };
  };

  const connection = (up) => {
    const line = $("#connection");
    line.className = up ? "live" : "lost";
    line.replaceChildren(Object.assign(document.createElement("span"), { textContent: up ? "● " : "○ ", ariaHidden: "true" }), up ? "live" : "pequod ui does not answer");
  };

  const summaries = stream(() => base + "graphs", {
    reset: (u) => { for (const { row } of graphs.values()) row.remove(); graphs.clear(); complete = false; update(u); },
    update,
  }, connection);

  const graph = stream(() => opened && `${base}graphs/${opened}`, {
    sections: (sections) => { $("#content").hidden = false; sections.forEach(replace); },
    problem: (text) => show($("#trouble"), text),
    gone: (text) => { $("#summary").textContent = text; $("#content").hidden = true; },
    said: say,
  }, () => {});

  // ---- Input

  list.addEventListener("keydown", step);
  list.addEventListener("focusout", (event) => { if (stale && !list.contains(event.relatedTarget)) setTimeout(soon); });
  list.addEventListener("click", (event) => {
    const row = event.target.closest("li");
    if (row) { rove(row); location.hash = encodeURI(row.dataset.key); }
  });
  find.addEventListener("input", arrange);
  sort.addEventListener("change", arrange);
  find.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); rove(); visible().find((row) => row.tabIndex === 0)?.focus(); }
  });
  $("#states").addEventListener("click", (event) => {
    const chip = event.target.closest(".chip");
    if (!chip) return;
    wanted = wanted === chip.dataset.state ? "" : chip.dataset.state;
    arrange();
  });
  $("#close").addEventListener("click", close);
  $("#compare")?.addEventListener("click", compare);
  // A link in the drawing leads to the row of the node, and not to another graph.
  detail.addEventListener("click", (event) => {
    const href = event.target.closest("a")?.getAttribute("href");
    if (!href?.startsWith("#node-")) return;
    event.preventDefault();
    const row = $(href);
    row?.scrollIntoView({ block: "center" });
    row?.focus({ preventScroll: true });
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (event.target === find && (find.value || wanted)) { find.value = ""; wanted = ""; arrange(); } else if (opened) close();
    } else if (event.key === "/" && !event.target.closest("input, select")) {
      event.preventDefault();
      find.focus();
    }
  });
  const follow = (focus) => {
    let key = "";
    try { key = decodeURI(location.hash.slice(1)); } catch { /* the address was edited */ }
    key = /^[a-z0-9-]+\/[a-z0-9.-]+$/.test(key) ? key : "";
    if (key !== opened) open(key, focus);
  };
  addEventListener("hashchange", () => follow(true));
  addEventListener("popstate", () => follow(true));
  document.addEventListener("visibilitychange", () => {
    for (const s of [summaries, graph]) if (document.hidden) s.stop(); else s.restart();
  });
  summaries.restart();
  follow(false);
})();
