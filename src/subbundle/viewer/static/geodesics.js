// Two clicks give the geodesic between two rows: along the page's graph at once, exactly as soon as Python has answered.

import { rowNumber } from "./tooltip.js";

/** Colours of the two ends; the path has that of the first. */
export const PINS = ["#d55e00", "#0072b2"];

/** Take a clicked row as the first end, or as the second of what the first began. */
export function pin(app, found) {
  const { pins } = app.state;
  const second = pins.length === 1 && pins[0].table === found.table && pins[0].index !== found.index;
  app.state.set("pins", second ? [pins[0], found] : [found]);
  showPath(app, null);
  if (second) return connect(app);
  const can = app.along[found.table] || app.ask;
  app.state.set("geodesic", can ? { message: "Click a second point for the geodesic between them." } : null);
  return null;
}

async function connect(app) {
  const [from, to] = app.state.pins;
  const along = app.along[from.table];
  const exactly = Boolean(app.ask && app.data.exact.includes(from.table));
  // Answers to clicks that others have followed are not shown.
  const turn = (app.turn = (app.turn ?? 0) + 1);
  if (along) connectInPage(app, along, exactly);
  else if (exactly) app.state.set("geodesic", { waiting: true });
  if (!exactly) return;
  try {
    const rows = [from, to].map(({ table, index }) => rowNumber(app.data.tables[table], index));
    const answer = await app.ask({ kind: "geodesic", table: from.table, rows });
    if (turn !== app.turn) return;
    if (answer.error) throw new Error(answer.error);
    const length = answer.length === null ? Infinity : answer.length;
    app.state.set("geodesic", { length, straight: answer.straight, exact: true, message: answer.message });
    if (Object.keys(answer.paths).length) showPath(app, answer.paths);
  } catch (error) {
    if (turn === app.turn) app.state.set("geodesic", { ...app.state.geodesic, waiting: false, message: error.message });
  }
}

function connectInPage(app, along, waiting) {
  const [from, to] = app.state.pins;
  const { rows, length, straight } = along.between(from.index, to.index);
  app.state.set("geodesic", { length, straight, exact: false, waiting });
  if (!rows) return;
  const path = (panel) => rows.map((index) => app.placeOf(panel, { table: from.table, index }));
  showPath(app, Object.fromEntries(app.panels.map((panel) => [panel.record.key, path(panel)])));
}

/** Draw {panel: points}; nothing for null, nor where other axes were chosen. */
export function showPath(app, paths) {
  app.path = paths;
  for (const panel of app.panels) {
    const points = paths?.[panel.record.key]?.filter((point) => point && point.every(Number.isFinite));
    panel.setCurve("geodesic", panel.record.limits ? null : points, PINS[0], 4);
  }
}
