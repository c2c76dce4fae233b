// Distances along the shape from one row to all others, and the path between two, in the graph that the page carries.

import { decoded, positionOf } from "./data.js";
import { graphOfFaces, pathTo, shortestPaths, straight } from "./graph.js";

export class Along {
  /** `layer` is one in which the rows of `table` lie in the units of the data. */
  constructor(table, layer) {
    this.table = table;
    this.layer = layer;
    this.count = layer.positions.codes.length / 3;
    this.place = (i) => positionOf(layer, i);
  }

  get possible() {
    return Boolean(this.table.graph || this.layer.faces);
  }

  get graph() {
    this._graph ??= this.table.graph ?? graphOfFaces(this.layer.faces, this.count, this.place);
    return this._graph;
  }

  /** Node of the graph of row i. */
  node(i) {
    return this.graph.owner ? this.graph.owner[i] : i;
  }

  /** Row of node k of the graph. */
  row(k) {
    return this.graph.nodes ? this.graph.nodes[k] : k;
  }

  /** Distances of all rows from row i; infinite where there is no path. */
  from(i) {
    if (this._from?.row === i) return this._from.all;
    const tree = shortestPaths(this.graph, this.node(i));
    const all = new Float64Array(this.count);
    for (let j = 0; j < this.count; j++) all[j] = tree.distance[this.node(j)];
    this._from = { row: i, all, tree };
    return all;
  }

  /** {rows, length, straight} of the path from row i to row j; `rows` is null where there is none. */
  between(i, j) {
    this.from(i);
    const { tree } = this._from;
    const end = this.node(j);
    const rows = pathTo(tree.before, end).map((k) => this.row(k));
    const gap = this.graph.owner ? this.apart(i, rows[0]) + this.apart(j, rows.at(-1)) : 0;
    const length = i === j ? 0 : tree.distance[end] + gap;
    if (rows[0] !== i) rows.unshift(i);
    if (rows.at(-1) !== j) rows.push(j);
    return { rows: Number.isFinite(length) ? rows : null, length, straight: this.apart(i, j) };
  }

  /** Straight distance in all features; NaN when the page does not carry them. */
  apart(i, j) {
    const { features } = this.table;
    if (!features) return straight(this.place(i), this.place(j));
    const columns = features.map((name) => this.table.quantities.find((quantity) => quantity.name === name));
    if (columns.some((column) => !column)) return NaN;
    return straight(...[i, j].map((row) => columns.map((column) => decoded(column, column.codes[row]))));
  }
}

/** For every table one layer, and its panel, in which rows lie in the units of the data if there is any such. */
export function realLayers(data) {
  const found = {};
  for (const layer of data.layers) {
    const panel = data.panels.find((candidate) => candidate.key === layer.panel);
    if (layer.table && (!found[layer.table] || (panel.real && !found[layer.table].panel.real))) found[layer.table] = { panel, layer };
  }
  return Object.values(found);
}

/** {table: Along} for the tables with a graph in the page. */
export function alongOf(data) {
  const found = {};
  for (const { layer } of realLayers(data)) {
    const along = new Along(data.tables[layer.table], layer);
    if (along.possible) found[layer.table] = along;
  }
  return found;
}
