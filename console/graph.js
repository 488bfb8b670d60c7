import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from 'd3-force';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';

/** @typedef {import('./api.js').Schemas} Schemas */
/** @typedef {{ name: string, type: string, degree: number, x?: number, y?: number, fx?: number | null, fy?: number | null }} Node */
/** @typedef {{ source: Node, target: Node, relation: string, sentence: string }} Edge */

const WIDTH = 520;
const HEIGHT = 420;
/** More would be a knot. Those with most relations are shown. */
const MAX_NODES = 32;
const FEW = 10;

/**
 * The entities of the hits and their relations. Entities can be dragged, by pointer and by arrow keys.
 * @param {{ entities: Schemas['Entity'][], relations: Schemas['Relation'][], chosen: string | null, onChoose: (name: string | null) => void }} props
 */
export function Graph({ entities, relations, chosen, onChoose }) {
  const [, setTick] = useState(0);
  const state = useRef(
    /** @type {{ nodes: Node[], edges: Edge[], simulation: import('d3-force').Simulation<Node, undefined> } | null} */ (
      null
    ),
  );
  const drawing = useRef(/** @type {SVGSVGElement | null} */ (null));
  const identity = JSON.stringify([
    entities.map(({ name }) => name),
    relations.map(({ source, relation, target }) => [source, relation, target]),
  ]);

  useEffect(() => {
    const { nodes, edges } = build(entities, relations);
    const simulation = forceSimulation(nodes)
      .force('charge', forceManyBody().strength(-230))
      .force('link', forceLink(edges).distance(80).strength(0.4))
      .force('center', forceCenter(WIDTH / 2, HEIGHT / 2))
      .force('x', forceX(WIDTH / 2).strength(0.07))
      .force('y', forceY(HEIGHT / 2).strength(0.12))
      .force('collide', forceCollide(36))
      .force('inside', () => {
        for (const node of nodes) [node.x, node.y] = inside(node.x ?? 0, node.y ?? 0);
      })
      .on('tick', () => setTick((tick) => tick + 1));
    // Settled before it is drawn: nothing moves unless someone drags it.
    simulation.stop().tick(200);
    state.current = { nodes, edges, simulation };
    setTick((tick) => tick + 1);
    return () => void simulation.stop();
  }, [identity]);

  const { nodes = [], edges = [], simulation } = state.current ?? {};

  /** @param {PointerEvent} event @param {Node} node */
  const drag = (event, node) => {
    const handle = /** @type {SVGGElement} */ (event.currentTarget);
    handle.setPointerCapture(event.pointerId);
    simulation?.alphaTarget(0.2).restart();
    /** @param {PointerEvent} moved */
    const onMove = (moved) => {
      const at = pointIn(drawing.current, moved);
      if (at) [node.fx, node.fy] = inside(at.x, at.y);
    };
    const onEnd = () => {
      simulation?.alphaTarget(0);
      handle.removeEventListener('pointermove', onMove);
    };
    handle.addEventListener('pointermove', onMove);
    handle.addEventListener('lostpointercapture', onEnd, { once: true });
  };

  /** @param {KeyboardEvent} event @param {Node} node */
  const onKeyDown = (event, node) => {
    const step = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] }[event.key];
    if (event.key === 'Enter' || event.key === ' ') onChoose(chosen === node.name ? null : node.name);
    else if (step) {
      [node.fx, node.fy] = inside((node.x ?? 0) + (step[0] ?? 0), (node.y ?? 0) + (step[1] ?? 0));
      simulation?.alpha(0.2).restart();
    } else return;
    event.preventDefault();
  };

  const near = new Set(
    edges
      .filter(({ source, target }) => source.name === chosen || target.name === chosen)
      .flatMap(({ source, target }) => [source.name, target.name]),
  );
  /** @param {boolean} isNear */
  const fade = (isNear) => (chosen === null || isNear ? '' : 'faded');
  return html`
    <svg class="graph" viewBox="0 0 ${WIDTH} ${HEIGHT}" ref=${drawing} role="group" aria-label="Graph of entities and relations">
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker>
      </defs>
      ${edges.map((edge) => {
        const { x1, y1, x2, y2 } = ends(edge);
        const isNear = edge.source.name === chosen || edge.target.name === chosen;
        return html`
          <g class="edge ${fade(isNear)}">
            <title>${edge.sentence}</title>
            <line x1=${x1} y1=${y1} x2=${x2} y2=${y2} marker-end="url(#arrow)" />
            ${(isNear || edges.length < 16) && html`<text x=${(x1 + x2) / 2} y=${(y1 + y2) / 2 - 3}>${edge.relation}</text>`}
          </g>
        `;
      })}
      ${nodes.map((node) => {
        const [x, y] = inside(node.x ?? 0, node.y ?? 0);
        const isNear = node.name === chosen || near.has(node.name);
        return html`
          <g key=${node.name} class="node ${node.type} ${fade(isNear)}" transform="translate(${x} ${y})" tabindex="0" role="button"
            aria-pressed=${node.name === chosen ? 'true' : 'false'} aria-label="${node.name}, ${node.type}"
            onPointerDown=${(/** @type {PointerEvent} */ event) => drag(event, node)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => onKeyDown(event, node)}
            onClick=${() => onChoose(chosen === node.name ? null : node.name)}>
            <circle r=${radius(node)} />
            <text y=${radius(node) + 13}>${shorten(node.name)}</text>
          </g>
        `;
      })}
    </svg>
  `;
}

/** @param {Schemas['Entity'][]} entities @param {Schemas['Relation'][]} relations */
function build(entities, relations) {
  /** @type {Map<string, Node>} */
  const nodes = new Map(entities.map(({ name, type }) => [name, { name, type, degree: 0 }]));
  for (const { source, target } of relations) {
    for (const name of [source, target]) {
      const node = nodes.get(name) ?? { name, type: 'name', degree: 0 };
      node.degree += 1;
      nodes.set(name, node);
    }
  }
  const sorted = [...nodes.values()].sort((a, b) => b.degree - a.degree);
  const related = sorted.filter(({ degree }) => degree > 0);
  // Entities without a relation only where there is little else to see.
  const shown = (related.length < FEW ? sorted.slice(0, FEW) : related).slice(0, MAX_NODES);
  const byName = new Map(shown.map((node) => [node.name, node]));
  /** @type {Map<string, Edge>} */
  const edges = new Map();
  for (const { source, target, relation, evidence } of relations) {
    const [from, to] = [byName.get(source), byName.get(target)];
    if (from && to && from !== to)
      edges.set(`${source}\n${relation}\n${target}`, {
        source: from,
        target: to,
        relation,
        sentence: evidence[0]?.sentence ?? relation,
      });
  }
  return { nodes: shown, edges: [...edges.values()] };
}

/** @param {Node} node */
const radius = ({ degree }) => 7 + Math.min(7, degree);

/** @param {string} name */
const shorten = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);

/** @param {number} x @param {number} y @returns {[number, number]} */
const inside = (x, y) => [Math.min(WIDTH - 44, Math.max(44, x)), Math.min(HEIGHT - 30, Math.max(18, y))];

/** The ends of an edge at the rims of its circles. @param {Edge} edge */
function ends({ source, target }) {
  const [sx, sy] = inside(source.x ?? 0, source.y ?? 0);
  const [tx, ty] = inside(target.x ?? 0, target.y ?? 0);
  const length = Math.hypot(tx - sx, ty - sy) || 1;
  const [dx, dy] = [(tx - sx) / length, (ty - sy) / length];
  return {
    x1: sx + dx * radius(source),
    y1: sy + dy * radius(source),
    x2: tx - dx * (radius(target) + 3),
    y2: ty - dy * (radius(target) + 3),
  };
}

/** @param {SVGSVGElement | null} svg @param {PointerEvent} event */
function pointIn(svg, { clientX, clientY }) {
  const matrix = svg?.getScreenCTM()?.inverse();
  return matrix && new DOMPoint(clientX, clientY).matrixTransform(matrix);
}
