// The page's data: one binary blob, gzipped and in base64, and a description that names pieces of it.

/** Bytes of a base64 string; the browser's own decoder where there is one. */
export function bytesOfBase64(text) {
  if (typeof Uint8Array.fromBase64 === "function") return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Bytes of a gzipped array. */
export async function gunzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array };

/** Replace every {buffer: [type, offset, length]} inside `value` by the typed array it names. */
export function attachBuffers(value, blob) {
  if (Array.isArray(value)) return value.map((entry) => attachBuffers(entry, blob));
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value.buffer)) {
    const [type, offset, length] = value.buffer;
    const array = new ARRAYS[type](blob.buffer, blob.byteOffset + offset, length);
    return value.delta ? undoDelta(array) : array;
  }
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, attachBuffers(entry, blob)]));
}

/** Numbers from their differences, modulo 2³²: neighbouring faces name neighbouring corners, so these pack well. */
function undoDelta(differences) {
  const values = new Uint32Array(differences.length);
  let sum = 0;
  for (let i = 0; i < differences.length; i++) {
    sum = (sum + differences[i]) >>> 0;
    values[i] = sum;
  }
  return values;
}

/** The code of a missing number among 16-bit codes 0..65534. */
export const MISSING = 65535;

/** The number behind code `code` of a quantity with limits `low` and `high`; NaN for a missing one. */
export function decoded(quantity, code) {
  return code === MISSING ? NaN : quantity.low + (code / 65534) * (quantity.high - quantity.low);
}

/** Position i of a layer in the units of the data. */
export function positionOf(layer, i) {
  const { low, step, codes } = layer.positions;
  return [0, 1, 2].map((k) => low[k] + step[k] * codes[3 * i + k]);
}

/** A number in few digits, for people. */
export function shown(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : "∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 2).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

/** Both ends of an interval in as few digits as show its length to two: georeferenced coordinates differ in late ones. */
export function ends(low, high) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const common = Math.max(0, Math.ceil(Math.log10(size / (high - low))));
  if (!Number.isFinite(common) || common < 3) return [shown(low, 3), shown(high, 3)];
  return [low, high].map((value) => String(Number(value.toPrecision(Math.min(common + 2, 15)))));
}
