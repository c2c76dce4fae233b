// Distances along the shape inside the page: shortest paths in a neighbour graph, upper bounds of the true ones.

/** A binary heap of (key, item) with the least key on top; entries are never changed, only outdated. */
class Heap {
  constructor() {
    this.keys = [];
    this.items = [];
  }

  get size() {
    return this.keys.length;
  }

  push(key, item) {
    const { keys, items } = this;
    let i = keys.length;
    keys.push(key);
    items.push(item);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (keys[parent] <= key) break;
      keys[i] = keys[parent];
      items[i] = items[parent];
      i = parent;
    }
    keys[i] = key;
    items[i] = item;
  }

  pop() {
    const { keys, items } = this;
    const top = [keys[0], items[0]];
    const key = keys.pop();
    const item = items.pop();
    const n = keys.length;
    if (n === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && keys[child + 1] < keys[child]) child += 1;
      if (keys[child] >= key) break;
      keys[i] = keys[child];
      items[i] = items[child];
      i = child;
    }
    keys[i] = key;
    items[i] = item;
    return top;
  }
}

/** Shortest distances from node `source`, and the node before each; compressed rows `starts`, `ends`, `lengths`. */
export function shortestPaths(graph, source) {
  const { starts, ends, lengths } = graph;
  const n = starts.length - 1;
  const distance = new Float64Array(n).fill(Infinity);
  const before = new Int32Array(n).fill(-1);
  const heap = new Heap();
  distance[source] = 0;
  heap.push(0, source);
  while (heap.size) {
    const [far, node] = heap.pop();
    if (far > distance[node]) continue;
    for (let e = starts[node]; e < starts[node + 1]; e++) {
      const next = ends[e];
      const sum = far + lengths[e];
      if (sum < distance[next]) {
        distance[next] = sum;
        before[next] = node;
        heap.push(sum, next);
      }
    }
  }
  return { distance, before };
}

/** Nodes from the source of `before` to `node`, both included. */
export function pathTo(before, node) {
  const path = [node];
  while (before[node] >= 0) {
    node = before[node];
    path.push(node);
  }
  return path.reverse();
}

/** The graph of the edges of a mesh: `faces` (three corners each) and `place(i)`, the position of corner i. */
export function graphOfFaces(faces, n, place) {
  const count = new Uint32Array(n + 1);
  const sides = [[0, 1], [1, 2], [2, 0]];
  for (let f = 0; f < faces.length; f += 3) {
    for (const [a, b] of sides) {
      count[faces[f + a] + 1] += 1;
      count[faces[f + b] + 1] += 1;
    }
  }
  const starts = new Uint32Array(n + 1);
  for (let i = 0; i < n; i++) starts[i + 1] = starts[i] + count[i + 1];
  const fill = starts.slice();
  const ends = new Uint32Array(starts[n]);
  const lengths = new Float32Array(starts[n]);
  for (let f = 0; f < faces.length; f += 3) {
    for (const [a, b] of sides) {
      const p = faces[f + a];
      const q = faces[f + b];
      const length = straight(place(p), place(q));
      ends[fill[p]] = q;
      lengths[fill[p]++] = length;
      ends[fill[q]] = p;
      lengths[fill[q]++] = length;
    }
  }
  return { starts, ends, lengths };
}

/** Straight distance of two points. */
export function straight(x, y) {
  let sum = 0;
  for (let k = 0; k < x.length; k++) sum += (x[k] - y[k]) ** 2;
  return Math.sqrt(sum);
}
