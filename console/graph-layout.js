import { forceLink, forceManyBody, forceSimulation, forceX, forceY } from 'd3-force';

/** @typedef {import('./api.js').Schemas} Schemas */
/**
 * An entity. What is drawn of it reaches from `x` by `half` to both sides, by `above` upwards and by `below` downwards.
 * @typedef {{ name: string, label: string, type: string, degree: number, half: number, above: number, below: number,
 *   x?: number, y?: number, fx?: number | null, fy?: number | null }} Node
 */
/** @typedef {{ source: Node, target: Node, relation: string, sentence: string }} Edge */
/** @typedef {{ x0: number, y0: number, x1: number, y1: number }} Box */
/** @typedef {ReturnType<typeof layOut>} Layout */

/** More would be a knot. Those with most relations are shown. */
const MAX_NODES = 32;
const FEW = 10;
const MIN_HEIGHT = 340;
/** The drawing's area, as a multiple of that of its labels. */
const ROOM = 2;
/** Pixels between what is drawn of two entities. */
const GAP = 4;
/** Sizes of letters in pixels, as in style.css. */
const [NAME_SIZE, RELATION_SIZE] = [12.5, 10.5];
/** Places of a relation's label on its line, from the source on. */
const ALONG = [0.5, 0.4, 0.6, 0.3, 0.7];

/**
 * Places entities near those that they are related to, so that no name covers another.
 * @param {Schemas['Entity'][]} entities @param {Schemas['Relation'][]} relations
 * @param {number} width in pixels
 */
export function layOut(entities, relations, width) {
  const { nodes, edges, all } = choose(entities, relations);
  const area = nodes.reduce((sum, node) => sum + 2 * (node.half + GAP) * (node.above + node.below + GAP), 0);
  const size = { width, height: Math.max(MIN_HEIGHT, Math.round((area * ROOM) / width)) };
  const simulation = forceSimulation(nodes)
    .force('charge', forceManyBody().strength(-230))
    .force('link', forceLink(edges).distance(80).strength(0.4))
    .force('x', forceX(width / 2).strength(0.07))
    .force('y', forceY(size.height / 2).strength((0.07 * width) / size.height))
    .force('apart', () => keepApart(nodes, size));
  // Settled before it is drawn: nothing moves unless someone drags it.
  simulation.stop().tick(200);
  moveDown(nodes);
  const top = Math.min(...nodes.map((node) => boxOf(node).y0));
  for (const node of nodes) node.y = (node.y ?? 0) - top;
  size.height = Math.max(MIN_HEIGHT, ...nodes.map((node) => Math.ceil(boxOf(node).y1)));
  return { nodes, edges, all, size, simulation };
}

/** Moves what still overlaps below what is above it. @param {Node[]} nodes */
function moveDown(nodes) {
  /** @type {Node[]} */
  const placed = [];
  for (const node of nodes.toSorted((a, b) => (a.y ?? 0) - (b.y ?? 0))) {
    for (let other = covered(node, placed); other; other = covered(node, placed))
      node.y = (other.y ?? 0) + other.below + node.above + GAP;
    placed.push(node);
  }
}

/** @param {Node} node @param {Node[]} others */
const covered = (node, others) => others.find((other) => meet(boxOf(node), boxOf(other)));

/**
 * Moves what overlaps apart, by the shorter way, and everything into the drawing.
 * @param {Node[]} nodes @param {Layout['size']} size
 */
function keepApart(nodes, size) {
  for (const [index, a] of nodes.entries()) {
    for (const b of nodes.slice(index + 1)) {
      const [one, other] = [boxOf(a), boxOf(b)];
      const across = Math.min(one.x1, other.x1) - Math.max(one.x0, other.x0) + GAP;
      const down = Math.min(one.y1, other.y1) - Math.max(one.y0, other.y0) + GAP;
      if (across <= 0 || down <= 0) continue;
      if (across < down) push(a, b, 'x', across);
      else push(a, b, 'y', down);
    }
  }
  for (const node of nodes) [node.x, node.y] = inside(node, node.x ?? 0, node.y ?? 0, size);
}

/** @param {Node} a @param {Node} b @param {'x' | 'y'} axis @param {number} by */
function push(a, b, axis, by) {
  const direction = (a[axis] ?? 0) < (b[axis] ?? 0) ? -1 : 1;
  const [aStays, bStays] = [a, b].map(({ fx }) => typeof fx === 'number');
  if (!aStays) a[axis] = (a[axis] ?? 0) + (direction * by) / (bStays ? 1 : 2);
  if (!bStays) b[axis] = (b[axis] ?? 0) - (direction * by) / (aStays ? 1 : 2);
}

/**
 * @param {Node} node @param {number} x @param {number} y @param {Layout['size']} size
 * @returns {[number, number]} the nearest place at which all of it is in the drawing
 */
export function inside({ half, above, below }, x, y, { width, height }) {
  return [Math.max(half, Math.min(width - half, x)), Math.max(above, Math.min(height - below, y))];
}

/** @param {Node} node @returns {Box} */
const boxOf = ({ x = 0, y = 0, half, above, below }) => ({ x0: x - half, x1: x + half, y0: y - above, y1: y + below });

/**
 * Places the labels of relations on their lines, where they cover neither a name nor each other. A label without such a place is
 * left out: its line has it as a title.
 * @param {Edge[]} edges those that may have labels @param {Node[]} nodes
 * @returns {Map<Edge, { x: number, y: number }>} the middle of each label's base line
 */
export function placeRelations(edges, nodes) {
  const taken = nodes.map(boxOf);
  /** @type {Map<Edge, { x: number, y: number }>} */
  const places = new Map();
  for (const edge of edges) {
    const half = widthOf(edge.relation, RELATION_SIZE) / 2;
    const { x1, y1, x2, y2 } = ends(edge);
    for (const share of ALONG) {
      const [x, y] = [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share - 3];
      const box = { x0: x - half, x1: x + half, y0: y - RELATION_SIZE, y1: y + 3 };
      if (taken.some((other) => meet(box, other))) continue;
      taken.push(box);
      places.set(edge, { x, y });
      break;
    }
  }
  return places;
}

/** @param {Box} a @param {Box} b */
const meet = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

/** The ends of an edge at the rims of its circles. @param {Edge} edge */
export function ends({ source, target }) {
  const [sx, sy, tx, ty] = [source.x ?? 0, source.y ?? 0, target.x ?? 0, target.y ?? 0];
  const length = Math.hypot(tx - sx, ty - sy) || 1;
  const [dx, dy] = [(tx - sx) / length, (ty - sy) / length];
  return {
    x1: sx + dx * radius(source),
    y1: sy + dy * radius(source),
    x2: tx - dx * (radius(target) + 3),
    y2: ty - dy * (radius(target) + 3),
  };
}

/** @param {{ degree: number }} node */
export const radius = ({ degree }) => 7 + Math.min(7, degree);

/** @param {Schemas['Entity'][]} entities @param {Schemas['Relation'][]} relations */
function choose(entities, relations) {
  /** @type {Map<string, { name: string, type: string, degree: number }>} */
  const found = new Map(entities.map(({ name, type }) => [name, { name, type, degree: 0 }]));
  for (const { source, target } of relations) {
    for (const name of [source, target]) {
      const node = found.get(name) ?? { name, type: 'name', degree: 0 };
      node.degree += 1;
      found.set(name, node);
    }
  }
  const sorted = [...found.values()].sort((a, b) => b.degree - a.degree);
  const related = sorted.filter(({ degree }) => degree > 0);
  // Entities without a relation only where there is little else to see.
  const shown = (related.length < FEW ? sorted.slice(0, FEW) : related).slice(0, MAX_NODES).map(measure);
  const byName = new Map(shown.map((node) => [node.name, node]));
  /** @type {Map<string, Edge>} */
  const edges = new Map();
  for (const { source, target, relation, evidence } of relations) {
    const [from, to] = [byName.get(source), byName.get(target)];
    const sentence = evidence[0]?.sentence ?? relation;
    if (from && to && from !== to)
      edges.set(`${source}\n${relation}\n${target}`, { source: from, target: to, relation, sentence });
  }
  return { nodes: shown, edges: [...edges.values()], all: sorted.length };
}

/** @param {{ name: string, type: string, degree: number }} node @returns {Node} */
function measure(node) {
  const label = shorten(node.name);
  const r = radius(node);
  return { ...node, label, half: Math.max(r, widthOf(label, NAME_SIZE) / 2) + 2, above: r + 2, below: r + 17 };
}

/** Whole words, as far as there are some: what is seen is a part of what is read aloud. @param {string} name */
function shorten(name) {
  if (name.length <= 24) return name;
  const start = name.slice(0, 23);
  const space = start.lastIndexOf(' ');
  return `${space > 8 ? start.slice(0, space) : start}…`;
}

const pen = document.createElement('canvas').getContext('2d');

/** @param {string} text @param {number} size of its letters. @returns pixels */
function widthOf(text, size) {
  if (!pen) return text.length * size * 0.6;
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
