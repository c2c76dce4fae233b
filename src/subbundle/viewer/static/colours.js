// Colour maps as textures, and which colour a value gets.

/** Tables of 256 colours (three bytes each) as textures; `maps` is {name: bytes}. */
export function texturesOf(THREE, maps) {
  const textures = {};
  for (const [name, bytes] of Object.entries(maps)) {
    const count = bytes.length / 3;
    const pixels = new Uint8Array(4 * count);
    for (let i = 0; i < count; i++) {
      pixels.set(bytes.subarray(3 * i, 3 * i + 3), 4 * i);
      pixels[4 * i + 3] = 255;
    }
    const texture = new THREE.DataTexture(pixels, count, 1);
    texture.minFilter = texture.magFilter = THREE.NearestFilter;
    texture.needsUpdate = true;
    textures[name] = texture;
  }
  return textures;
}

/** CSS gradient of a colour map. */
export function gradientOf(bytes) {
  const count = bytes.length / 3;
  const stops = [];
  for (let i = 0; i <= 32; i++) {
    const k = 3 * Math.round((i / 32) * (count - 1));
    stops.push(`rgb(${bytes[k]},${bytes[k + 1]},${bytes[k + 2]})`);
  }
  return `linear-gradient(to right, ${stops.join(",")})`;
}

/** CSS colour of category `i` in a table of colours. */
export function categoryColour(bytes, i) {
  const k = 3 * (i % (bytes.length / 3));
  return `rgb(${bytes[k]},${bytes[k + 1]},${bytes[k + 2]})`;
}

/** Limits in 0..1 between which a quantity is coloured: all of it, or without the outermost hundredth on each side. */
export function limitsOf(quantity, whole) {
  if (whole || quantity.kind !== "number") return [0, 1];
  return quantity.inner;
}

/** How many values fall into each of `bins` equal pieces of the limits. */
export function histogramOf(codes, [low, high], bins) {
  const counts = new Float64Array(bins);
  const step = Math.max(1, Math.floor(codes.length / 200000));
  for (let i = 0; i < codes.length; i += step) {
    if (codes[i] === 65535) continue;
    const place = (codes[i] / 65534 - low) / Math.max(high - low, 1e-12);
    if (place >= 0 && place <= 1) counts[Math.min(bins - 1, Math.floor(place * bins))] += 1;
  }
  return counts;
}
