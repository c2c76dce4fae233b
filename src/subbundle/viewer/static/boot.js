// Where the viewer starts: in a page of its own, or inside a notebook.

import { App } from "./app.js";
import { attachBuffers, bytesOfBase64, gunzip } from "./data.js";

let library = null;

/** three.js, from the installed package whose code the page carries (an AMD module that defines itself). */
async function threeFrom(source) {
  if (!library) {
    const before = globalThis.define;
    const styles = new Set(document.querySelectorAll("style"));
    let made = null;
    globalThis.define = (...parts) => (made = parts.at(-1)());
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    try {
      await new Promise((resolve, reject) => {
        const script = document.createElement("script");
        Object.assign(script, { src: url, onload: resolve, onerror: () => reject(new Error("the drawing library did not load")) });
        document.head.append(script);
      });
    } finally {
      URL.revokeObjectURL(url);
      globalThis.define = before;
      // The package styles elements of its own, which are not used here.
      for (const style of document.querySelectorAll("style")) if (!styles.has(style)) style.remove();
    }
    library = made.ThreeJsProvider.THREE;
  }
  return library;
}

/** A message instead of the viewer. */
function explain(root, error) {
  const box = document.createElement("p");
  box.className = "sb-failed";
  box.textContent = /webgl/i.test(error.message) ? "This browser draws no WebGL, which the viewer needs. Try another browser, or turn on hardware acceleration." : `The viewer could not start: ${error.message}`;
  root.replaceChildren(box);
}

/** Start the viewer in `root` from the description, its blob of numbers and the library's source. */
export async function start(root, description, blob, source, ask) {
  try {
    const THREE = await threeFrom(source);
    root.subbundle = new App(root, attachBuffers(description, blob), THREE, ask);
    globalThis.subbundleView = root.subbundle;
  } catch (error) {
    explain(root, error);
    throw error;
  }
  return root.subbundle;
}

/** Start from a page that carries everything in elements of its own. */
export async function startPage() {
  const text = (id) => document.getElementById(id).textContent;
  const unpack = async (id) => gunzip(bytesOfBase64(text(id).trim()));
  const [blob, source] = await Promise.all([unpack("sb-data"), unpack("sb-library")]);
  const description = JSON.parse(text("sb-description"));
  const { address } = description;
  const ask =
    address &&
    (async (question) => {
      const answer = await fetch(address, { method: "POST", body: JSON.stringify(question), headers: { "Content-Type": "application/json" } });
      return answer.json();
    });
  return start(document.getElementById("sb-root"), description, blob, source, ask);
}

/** Start in the cell of a notebook; `model` is anywidget's. */
export async function startWidget({ model, el }) {
  const root = document.createElement("div");
  root.style.height = model.get("height");
  el.append(root);
  const style = document.createElement("style");
  style.textContent = model.get("_style");
  el.append(style);
  const bytes = (name) => {
    const view = model.get(name);
    return gunzip(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  };
  const waiting = new Map();
  let last = 0;
  model.on("msg:custom", (message) => {
    waiting.get(message.number)?.(message.answer);
    waiting.delete(message.number);
  });
  const ask = (question) =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      model.send({ number: last, question });
    });
  const [blob, source] = await Promise.all([bytes("_blob"), bytes("_library")]);
  const app = await start(root, JSON.parse(model.get("_description")), blob, source, ask);
  return () => app.dispose();
}
