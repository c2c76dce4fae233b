// Mouse and keys: hover marks, click pins, shift-drag brushes.

import { pickAt, pickInside } from "./pick.js";

// A press that moved further than this, in pixels, was a drag and not a click.
const STILL = 4;

/** Report events on `panel` to `app`. */
export function listen(panel, app) {
  const { over: surface } = panel;
  let press = null;
  let wanted = null;
  const place = (event) => {
    const box = surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  surface.addEventListener(
    "pointerdown",
    (event) => {
      press = { at: place(event), brushing: event.shiftKey };
      // The controls would turn the view while the brush is drawn.
      if (event.shiftKey) panel.controls.enabled = false;
    },
    { capture: true },
  );
  surface.addEventListener("pointermove", (event) => {
    if (press?.brushing) {
      panel.brush = rectangle(press.at, place(event));
      panel.redraw();
    } else if (!press) {
      if (!wanted) requestAnimationFrame(() => hover());
      wanted = event;
    }
  });
  const hover = () => {
    const event = wanted;
    wanted = null;
    if (event && !press) app.hoverAt(pickAt(panel, ...place(event)), event.clientX, event.clientY);
  };
  surface.addEventListener("pointerup", (event) => {
    const at = place(event);
    if (press?.brushing) {
      const box = rectangle(press.at, at);
      panel.brush = null;
      panel.controls.enabled = true;
      app.select(box.width > STILL && box.height > STILL ? pickInside(panel, box) : null);
    } else if (press && event.button === 0 && Math.hypot(at[0] - press.at[0], at[1] - press.at[1]) <= STILL) {
      app.clickAt(pickAt(panel, ...at));
    }
    press = null;
  });
  surface.addEventListener("pointerleave", () => {
    wanted = null;
    if (!press) app.hoverAt(null);
  });
  surface.addEventListener("dblclick", () => panel.reset());
}

function rectangle([x0, y0], [x1, y1]) {
  return { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) };
}

/** Keys, while the mouse is over the viewer. */
export function listenToKeys(root, app) {
  root.tabIndex = 0;
  root.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey) return;
    const action = { r: () => app.reset(), Escape: () => app.clear(), d: () => app.toggleSpreading(), s: () => app.screenshot() }[event.key];
    if (action) {
      action();
      event.preventDefault();
    }
  });
}
