// What is marked, clicked, brushed and coloured now; every change is announced to those who draw it.

export class State {
  constructor() {
    this.hover = null; // {table, index}
    this.pins = []; // up to two of {table, index}
    this.geodesic = null; // {length, straight, exact, waiting, message}
    this.selection = {}; // table: marks
    this.colour = {}; // table: {name, map, whole}
    this.listeners = {};
  }

  on(what, listener) {
    (this.listeners[what] ??= []).push(listener);
  }

  set(what, value) {
    this[what] = value;
    this.tell(what);
  }

  tell(what) {
    for (const listener of this.listeners[what] ?? []) listener(this[what]);
  }
}

/** Make an element: h("div", {class: "x", onclick: f}, children…). */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name === "class" ? "className" : name] = value;
    else element.setAttribute(name === "className" ? "class" : name, value);
  }
  if (properties.class) element.className = properties.class;
  element.append(...children);
  return element;
}
