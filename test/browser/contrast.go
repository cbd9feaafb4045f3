package browser

// LowContrast lists the visible elements whose text has less than the contrast of 4.5 that
// WCAG 2 asks for. It opens all elements details first. The background of text in a drawing
// is the rectangle before it in the same group.
func (p *Page) LowContrast() []string {
	p.t.Helper()
	return Eval[[]string](p, lowContrast)
}

const lowContrast = `(() => {
  const channel = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const v = c.match(/[\d.]+/g).slice(0, 3).map((x) => channel(x / 255)); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const clear = (c) => c === "none" || /^rgba\(.*, 0\)$/.test(c);
  const box = (e) => { for (let b = e.previousElementSibling; b; b = b.previousElementSibling) if (b.tagName === "rect" && !clear(getComputedStyle(b).fill)) return getComputedStyle(b).fill; };
  const back = (e) => {
    for (; e; e = e.parentElement) {
      const c = e instanceof SVGElement && e.tagName !== "svg" ? box(e) || "none" : getComputedStyle(e).backgroundColor;
      if (!clear(c)) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const bad = new Set();
  const check = (e, color, what) => {
    const [a, b] = [light(color), light(back(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.add(e.tagName + "." + (e.getAttribute("class") || "") + what + " " + ratio.toFixed(2));
  };
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  for (const e of document.querySelectorAll("main *")) {
    if (!e.checkVisibility() || e.tagName === "title" || e.tagName === "style") continue;
    if (e.placeholder) check(e, getComputedStyle(e, "::placeholder").color, "::placeholder");
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const s = getComputedStyle(e);
    check(e, e instanceof SVGElement ? s.fill : s.color, "");
  }
  return [...bad];
})()`
