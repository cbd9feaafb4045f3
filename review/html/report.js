// The page is complete without this script. It filters entries, moves between them
// with keys, and shows both sides of a change next to each other.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = $("#filter");

  // Rows of the filter, read once: a search must not read the page again.
  const groups = all(".group").map((element) => ({
    element,
    blocks: all(".block", element).map((element) => ({
      element,
      instances: all(".instances > li", element).map((element) => ({ element, text: element.textContent.toLowerCase(), namespace: element.dataset.namespace })),
      entries: all(".entry", element).map((element) => ({
        element, kind: $(".kind", element).textContent, namespace: $(".object i", element)?.textContent || "",
        effects: all("summary > .chip", element).map((chip) => chip.classList[1]), text: $(".object", element).textContent.toLowerCase(),
      })),
    })),
  }));

  // An entry stands for one object in each instance of its block. It matches an instance
  // if each word is in the name of either.
  const matches = (entry, instance, want) =>
    (!want.kind || entry.kind === want.kind) && (!want.effect || entry.effects.includes(want.effect)) &&
    (!want.namespace || (entry.namespace || instance.namespace) === want.namespace || instance.namespace === want.namespace) &&
    want.words.every((word) => entry.text.includes(word) || instance.text.includes(word));

  const filter = () => {
    const want = {
      kind: $("#kind").value, namespace: $("#namespace").value, words: $("#find").value.toLowerCase().split(/\s+/).filter(Boolean),
      effect: $(".chip[aria-pressed=true]", form)?.dataset.effect || "",
    };
    let shown = 0, total = 0;
    for (const group of groups) {
      let inGroup = 0;
      for (const block of group.blocks) {
        const hits = block.entries.map(() => 0);
        for (const instance of block.instances) {
          const own = block.entries.map((entry, i) => matches(entry, instance, want) && ++hits[i]);
          instance.element.hidden = !own.some(Boolean);
        }
        block.entries.forEach((entry, i) => { entry.element.hidden = !hits[i]; });
        const inBlock = hits.reduce((sum, n) => sum + n, 0);
        block.element.hidden = !inBlock;
        inGroup += inBlock;
        total += block.entries.length * block.instances.length;
      }
      group.element.hidden = !inGroup;
      shown += inGroup;
    }
    $("#count").textContent = `${shown} of ${total} changed objects`;
    $("#nothing").hidden = shown > 0;
  };

  const clear = () => {
    form.reset();
    all(".chip", form).forEach((chip) => chip.setAttribute("aria-pressed", "false"));
    filter();
  };

  // A block of removed lines stands next to the block of lines that replace it.
  const sideBySide = (pre) => {
    const table = document.createElement("table");
    table.className = "sidebyside";
    const head = table.createTHead().insertRow();
    for (const text of ["Before", "After"]) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = text;
      head.append(th);
    }
    const body = table.createTBody();
    const row = (before, after) => {
      const tr = body.insertRow();
      for (const node of [before, after]) tr.insertCell().append(...(node ? [node.cloneNode(true)] : []));
    };
    const nodes = [...pre.childNodes];
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i], next = nodes[i + 1];
      if (node.nodeName === "DEL") {
        const pair = next?.nodeName === "INS";
        row(node, pair ? next : null);
        if (pair) i++;
      } else if (node.nodeName === "INS") {
        row(null, node);
      } else if (node.textContent.trim()) {
        const clean = node.cloneNode(true);
        if (clean.nodeType === Node.TEXT_NODE) clean.textContent = clean.textContent.replace(/^\n|\n$/g, "");
        row(clean, clean);
      }
    }
    pre.after(table);
    pre.classList.add("built");
  };

  const build = (entry) => {
    if (document.body.classList.contains("split")) all("pre.diff:not(.built)", entry).forEach(sideBySide);
  };

  const split = () => {
    const on = document.body.classList.toggle("split");
    $("#split").setAttribute("aria-pressed", on);
    all(".entry[open]").forEach(build);
  };

  // Names that the page needn't repeat for every object.
  const label = (selector, text) => all(selector).forEach((element) => {
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", text);
  });
  label("pre.fields", "Changed fields");
  label("pre.diff", "Object before and after");

  const visible = () => all(".entry").filter((entry) => !entry.closest("[hidden]"));

  const expand = () => {
    const entries = visible(), open = entries.some((entry) => !entry.open);
    entries.forEach((entry) => { entry.open = open; });
    $("#expand").textContent = open ? "Collapse all" : "Expand all";
  };

  const move = (step) => {
    const entries = visible();
    if (!entries.length) return;
    const at = entries.indexOf(document.activeElement.closest?.(".entry"));
    const next = entries[at < 0 ? (step > 0 ? 0 : entries.length - 1) : Math.min(entries.length - 1, Math.max(0, at + step))];
    const summary = $("summary", next);
    summary.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };

  // A link to an entry opens it, also if the filter hides it.
  const open = () => {
    const entry = /^#o\d+$/.test(location.hash) && $(location.hash);
    if (!entry) return;
    if (entry.closest("[hidden]")) clear();
    entry.open = true;
    entry.scrollIntoView({ block: "start" });
    $("summary", entry).focus({ preventScroll: true });
  };

  const keys = { "/": () => $("#find").focus(), j: () => move(1), k: () => move(-1), s: split, e: expand };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && form) return clear();
    if (event.target.closest("input, select") || !keys[event.key] || !form) return;
    event.preventDefault();
    keys[event.key]();
  });
  document.addEventListener("toggle", (event) => { if (event.target.matches?.(".entry") && event.target.open) build(event.target); }, true);
  addEventListener("hashchange", open);

  // Paper has no folds: what the filter shows is printed open.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])").filter((details) => !details.closest("[hidden]"));
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((details) => { details.open = false; }));

  if (!form) return;
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("click", (event) => {
    const chip = event.target.closest(".chip");
    if (!chip) return;
    const pressed = chip.getAttribute("aria-pressed") === "true";
    all(".chip", form).forEach((other) => other.setAttribute("aria-pressed", String(other === chip && !pressed)));
    filter();
  });
  $("#split").addEventListener("click", split);
  $("#expand").addEventListener("click", expand);
  $("#clear").addEventListener("click", clear);
  filter();
  open();
})();
