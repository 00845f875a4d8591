// Draws the charts of a report, when they come into view and then the rest while nothing else is
// to be done, and again when their width changes; their colours are the style sheet's. Needs vega and
// vegaLite, and no network.
"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  let drawings = [...document.querySelectorAll(".drawing")];
  const drawn = new Map();
  const root = document.documentElement;
  // What is left of a sheet of A4 or Letter between its margins, in CSS pixels.
  const PAPER_WIDTH = 700;
  let isPrinting = false;
  // A chart with texts beside its marks is not drawn narrower: its place scrolls, as tables do.
  const LEAST_WIDTH = 560;

  function config() {
    const [ink, soft, line] = ["var(--ink)", "var(--soft)", "var(--line)"];
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: "transparent",
      font,
      axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
              labelFontSize: 11, titleFontSize: 11, titleFontWeight: "normal" },
      axisY: { domain: false },
      legend: { labelColor: ink, titleColor: soft, labelFontSize: 12, symbolSize: 90 },
      header: { labelColor: ink, titleColor: soft, labelFontSize: 12 },
      title: { color: ink },
      view: { stroke: null },
      text: { color: ink, fontSize: 12 },
      range: { category: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `var(--category-${number})`) },
    };
  }

  // A specification as wide as the place where it stands, if that is wide enough.
  function fitted(spec, width) {
    const copy = structuredClone(spec);
    const fit = (copy.usermeta || {}).fit;
    if (fit === "columns") {
      // The first column has the labels of the axis; between columns there is a gap.
      const [labels, gap, least] = [60, 38, 230];
      const room = width - labels;
      const columns = Math.max(1, Math.min(copy.columns, Math.floor(room / (least + gap))));
      copy.columns = columns;
      copy.spec.width = Math.max(160, Math.floor(room / columns) - gap);
    } else if (fit === "width") {
      copy.spec.width = Math.max(240, width - 70);
    } else if (copy.width === "container") {
      copy.width = Math.max(LEAST_WIDTH, width);
    }
    return copy;
  }

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);
  function showTip(_, event, item, value) {
    if (value === undefined || value === null || value === "") {
      tip.style.display = "none";
      return;
    }
    tip.textContent = typeof value === "object"
      ? Object.entries(value).map(([name, text]) => `${name}: ${text}`).join(", ")
      : value;
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
    const below = event.clientY + 18 + box.height < window.innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? event.clientY + 18 : event.clientY - box.height - 10}px`;
  }

  async function draw(place) {
    if (drawn.get(place)) {
      return;
    }
    drawn.set(place, true);
    const width = isPrinting ? PAPER_WIDTH : Math.max(320, place.clientWidth);
    try {
      const spec = fitted(specs[place.dataset.chart], width);
      const logger = vega.logger(vega.Error);
      const compiled = vegaLite.compile(spec, { config: config(), logger }).spec;
      const runtime = vega.parse(compiled, null, { ast: true });
      if (place.view) {
        place.view.finalize();
      }
      place.view = new vega.View(runtime, {
        expr: vega.expressionInterpreter,
        renderer: "svg",
        container: place,
        hover: true,
        tooltip: showTip,
        loader: { load: () => Promise.reject(new Error("a report loads nothing")) },
        logger,
      });
      await place.view.runAsync();
      place.dataset.drawn = isPrinting ? "print" : "screen";
    } catch (error) {
      place.textContent = `This chart cannot be drawn (${error.message}); its figures are below.`;
      console.error(place.dataset.chart, error);
    }
  }

  // The rest, one by one, so that the page answers meanwhile.
  // Without a limit a browser may wait for ever: it need not have idle time.
  const idle = (work) =>
    window.requestIdleCallback ? requestIdleCallback(work, { timeout: 200 }) : setTimeout(work, 30);
  async function drawNext() {
    const next = drawings.find((place) => !drawn.get(place));
    if (next) {
      await draw(next);
      idle(drawNext);
    }
  }

  function redraw() {
    for (const place of drawings) {
      drawn.set(place, false);
    }
    const inView = drawings.filter((place) => {
      const box = place.getBoundingClientRect();
      return box.bottom > 0 && box.top < window.innerHeight;
    });
    inView.forEach(draw);
    idle(drawNext);
  }

  const seen = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "300px" },
  );
  drawings.forEach((place) => seen.observe(place));
  window.addEventListener("load", () => idle(drawNext));

  // Paper has a width of its own, and nobody unfolds what is folded on it. A chart is drawn in
  // microtasks alone, so all are there before the browser goes on to print.
  const folded = [...document.querySelectorAll("section > details:not([open])")];
  window.addEventListener("beforeprint", () => {
    isPrinting = true;
    folded.forEach((part) => { part.wasOpen = part.open; part.open = true; });
    drawings.forEach((place) => drawn.set(place, false));
    drawings.forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    isPrinting = false;
    folded.forEach((part) => { part.open = part.wasOpen; });
    redraw();
  });

  let width = window.innerWidth;
  let pending = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) {
      width = window.innerWidth;
      clearTimeout(pending);
      pending = setTimeout(redraw, 200);
    }
  });

  const themes = { system: "as the system", light: "light", dark: "dark" };
  const button = document.getElementById("theme");
  const keep = {
    get() { try { return localStorage.getItem("thrashlab-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("thrashlab-theme", value); } catch { /* not kept */ } },
  };
  function wear(theme) {
    if (theme === "system") {
      delete root.dataset.theme;
    } else {
      root.dataset.theme = theme;
    }
    button.dataset.theme = theme;
    button.textContent = `Theme: ${themes[theme]}`;
  }
  wear(themes[keep.get()] ? keep.get() : "system");
  button.hidden = false;
  button.addEventListener("click", () => {
    const names = Object.keys(themes);
    const next = names[(names.indexOf(button.dataset.theme) + 1) % names.length];
    keep.set(next);
    wear(next);
  });

  function addCopyButtons(area) {
    area.querySelectorAll(".command pre").forEach(addCopyButton);
  }
  function addCopyButton(code) {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.textContent = "Copy";
    copy.addEventListener("click", async () => {
      const selection = window.getSelection();
      selection.selectAllChildren(code);
      try {
        await navigator.clipboard.writeText(code.textContent);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Selected";
      }
    });
    code.parentElement.append(copy);
  }
  addCopyButtons(document);

  // Replaces a part of the page, with its charts; its height stays until they are drawn.
  window.showPart = (area, html, charts) => {
    for (const place of area.querySelectorAll(".drawing")) {
      seen.unobserve(place);
      drawn.delete(place);
      if (place.view) {
        place.view.finalize();
      }
    }
    area.style.minHeight = `${area.offsetHeight}px`;
    area.innerHTML = html;
    Object.assign(specs, charts);
    drawings = [...document.querySelectorAll(".drawing")];
    addCopyButtons(area);
    const added = [...area.querySelectorAll(".drawing")];
    added.forEach((place) => seen.observe(place));
    Promise.all(added.map(draw)).then(() => { area.style.minHeight = ""; });
  };
})();
