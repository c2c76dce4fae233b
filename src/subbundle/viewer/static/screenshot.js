// All views side by side as one PNG, with what the colours mean.

/** Write the views, their axes and a line of text to a PNG file; return its data URL. */
export function screenshotOf(panels, background, ink, caption) {
  const ratio = panels[0].ratio;
  const width = panels.reduce((sum, panel) => sum + panel.over.width, 0);
  const height = Math.max(...panels.map((panel) => panel.over.height));
  const footer = Math.round(28 * ratio);
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height: height + footer });
  const context = canvas.getContext("2d");
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  let x = 0;
  for (const panel of panels) {
    panel.draw();
    context.drawImage(panel.canvas, x, 0);
    context.drawImage(panel.over, x, 0);
    x += panel.over.width;
  }
  context.fillStyle = ink;
  context.font = `${Math.round(13 * ratio)}px system-ui, sans-serif`;
  context.fillText(caption, 10 * ratio, height + 18 * ratio);
  return canvas.toDataURL("image/png");
}

/** Offer `url` as a file. */
export function offer(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
