// The elements of the page around the views.

import { shown } from "./data.js";
import { h } from "./state.js";

/** Title bar, sidebar, views, legends, notes; returns the parts that change, and functions that fill them. */
export function skeleton(root, app) {
  const { data } = app;
  root.classList.add("sb-viewer");
  const parts = {
    sidebar: h("aside", { class: "sb-sidebar" }),
    views: h("main", { class: "sb-views" }),
    legends: h("div", { class: "sb-legends" }),
    tip: h("div", { class: "sb-tip", hidden: true }),
    card: h("div", { class: "sb-geodesic", hidden: true }),
    brushed: h("div", { class: "sb-brushed", hidden: true }),
  };
  const button = (text, title, onclick) => h("button", { type: "button", textContent: text, title, onclick });
  const flip = () => app.setTheme(root.dataset.theme === "dark" ? "light" : "dark");
  const bar = h(
    "header",
    { class: "sb-bar" },
    button("☰", "Show or hide the controls", () => root.classList.toggle("sb-wide")),
    h("h1", { textContent: data.title }),
    h("span", { class: "sb-quiet sb-subtitle", textContent: data.subtitle }),
    h("span", { class: "sb-space" }),
    h("span", { class: "sb-mode", textContent: app.ask ? "geodesics: exact" : "geodesics: approximate", title: app.ask ? "computed by Python on request" : "shortest paths in a graph inside this file", hidden: !data.measures }),
    button("Reset view", "Fit everything into the view (R)", () => app.reset()),
    button("Screenshot", "Save the views as PNG (S)", () => app.screenshot()),
    button("◐", "Light or dark", flip),
  );
  const dock = h("div", { class: "sb-dock" }, parts.card, parts.brushed, h("span", { class: "sb-space" }), parts.legends);
  const stage = h("div", { class: "sb-stage" }, parts.views, dock);
  const body = h("div", { class: "sb-body" }, parts.sidebar, stage, ...figures(data));
  const help = "Drag: turn · right drag: pan · wheel: zoom · click two points: geodesic · shift-drag: select · Esc: clear";
  const foot = h("footer", { class: "sb-foot" }, ...data.notes.map((note) => h("span", { class: "sb-note", textContent: note })), h("span", { class: "sb-space" }), h("span", { class: "sb-quiet", textContent: help }));
  root.replaceChildren(bar, body, foot, parts.tip);
  parts.showGeodesic = (geodesic) => showGeodesic(parts.card, geodesic, app);
  parts.showSelection = (counts) => showSelection(parts.brushed, counts, app);
  return parts;
}

/** Facts, warnings and figures of a report, in a column of their own. */
function figures(data) {
  if (!data.figures.length && !data.facts.length && !data.warnings.length) return [];
  const rows = data.facts.map(([name, value]) => h("tr", {}, h("th", { textContent: name }), h("td", { textContent: value })));
  return [
    h(
      "section",
      { class: "sb-report" },
      ...data.warnings.map((text) => h("p", { class: "sb-warning", textContent: text })),
      ...(rows.length ? [h("table", {}, ...rows)] : []),
      ...data.figures.map((figure) => h("figure", { title: "Click to enlarge", onclick: (event) => event.currentTarget.classList.toggle("sb-large") }, h("img", { src: figure.source, alt: figure.title }), h("figcaption", { class: "sb-quiet", textContent: figure.title }))),
    ),
  ];
}

function showGeodesic(card, geodesic, app) {
  card.hidden = !geodesic;
  if (!geodesic) return;
  const rows = [];
  if (geodesic.length !== undefined) {
    const length = Number.isFinite(geodesic.length) ? shown(geodesic.length, 6) : "not connected";
    rows.push(["Along the shape", length], ["Straight", shown(geodesic.straight, 6)]);
    if (Number.isFinite(geodesic.length) && geodesic.straight > 0) rows.push(["Ratio", shown(geodesic.length / geodesic.straight)]);
  }
  const kind = geodesic.waiting ? "computing the exact one …" : geodesic.exact ? "exact" : "approximate: shortest path in a graph";
  card.replaceChildren(
    h("div", { class: "sb-card-title" }, h("span", { textContent: "Geodesic" }), h("button", { type: "button", textContent: "×", title: "Clear (Esc)", onclick: () => app.clear() })),
    h("div", { class: "sb-figures" }, ...rows.map(([name, value]) => h("div", {}, h("span", { class: "sb-quiet", textContent: name }), h("b", { textContent: value })))),
    ...(rows.length || geodesic.waiting ? [h("div", { class: geodesic.exact ? "sb-exact" : "sb-quiet", textContent: kind })] : []),
    ...(geodesic.message ? [h("div", { class: "sb-quiet", textContent: geodesic.message })] : []),
  );
}

function showSelection(element, counts, app) {
  element.hidden = !counts;
  if (!counts) return;
  element.replaceChildren(
    ...counts.map(([key, count]) =>
      h(
        "div",
        {},
        `${count.toLocaleString("en")} of ${app.data.tables[key].title} selected `,
        h("button", { type: "button", textContent: "Save row numbers", onclick: () => app.saveSelection(key) }),
      ),
    ),
    h("button", { type: "button", textContent: "Clear", onclick: () => app.select(null) }),
  );
}
