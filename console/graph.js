import { useEffect, useRef, useState } from 'preact/hooks';
import { ends, inside, layOut, placeRelations, radius } from './graph-layout.js';
import { html } from './html.js';

/** @typedef {import('./api.js').Schemas} Schemas */
/** @typedef {import('./graph-layout.js').Node} Node */
/** @typedef {import('./graph-layout.js').Layout} Layout */

/** With more relations, only those of the chosen entity have labels. */
const FEW_EDGES = 16;

/**
 * The entities of the hits and their relations. Entities can be dragged, by pointer and by arrow keys.
 * @param {{ entities: Schemas['Entity'][], relations: Schemas['Relation'][], chosen: string | null, onChoose: (name: string | null) => void }} props
 */
export function Graph({ entities, relations, chosen, onChoose }) {
  const [, setTick] = useState(0);
  const [width, setWidth] = useState(0);
  const layout = useRef(/** @type {Layout | null} */ (null));
  const drawing = useRef(/** @type {SVGSVGElement | null} */ (null));
  const identity = JSON.stringify([
    entities.map(({ name }) => name),
    relations.map(({ source, relation, target }) => [source, relation, target]),
  ]);

  // A pixel of the drawing is one of the screen, so that names are as large on a telephone.
  useEffect(() => {
    if (!drawing.current) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(drawing.current);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (width === 0) return undefined;
    const made = layOut(entities, relations, width);
    made.simulation.on('tick', () => setTick((tick) => tick + 1));
    layout.current = made;
    setTick((tick) => tick + 1);
    return () => void made.simulation.stop();
  }, [identity, width]);

  const { nodes = [], edges = [], all = 0, size = { width: 1, height: 1 }, simulation } = layout.current ?? {};

  /** @param {PointerEvent} event @param {Node} node */
  const drag = (event, node) => {
    const handle = /** @type {SVGGElement} */ (event.currentTarget);
    handle.setPointerCapture(event.pointerId);
    simulation?.alphaTarget(0.2).restart();
    /** @param {PointerEvent} moved */
    const onMove = (moved) => {
      const at = pointIn(drawing.current, moved);
      if (at) [node.fx, node.fy] = inside(node, at.x, at.y, size);
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
      [node.fx, node.fy] = inside(node, (node.x ?? 0) + (step[0] ?? 0), (node.y ?? 0) + (step[1] ?? 0), size);
      simulation?.alpha(0.2).restart();
    } else return;
    event.preventDefault();
  };

  const ofChosen = edges.filter(({ source, target }) => source.name === chosen || target.name === chosen);
  const near = new Set(ofChosen.flatMap(({ source, target }) => [source.name, target.name]));
  const labels = placeRelations(edges.length < FEW_EDGES ? edges : ofChosen, nodes);
  /** @param {boolean} isNear */
  const fade = (isNear) => (chosen === null || isNear ? '' : 'faded');
  return html`
    <svg class="graph" viewBox="0 0 ${size.width} ${size.height}" ref=${drawing} role="group" aria-label="Graph of entities and relations">
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker>
      </defs>
      ${edges.map((edge) => {
        const { x1, y1, x2, y2 } = ends(edge);
        return html`
          <g class="edge ${fade(ofChosen.includes(edge))}">
            <title>${edge.sentence}</title>
            <line x1=${x1} y1=${y1} x2=${x2} y2=${y2} marker-end="url(#arrow)" />
          </g>
        `;
      })}
      ${[...labels].map(
        ([edge, { x, y }]) => html`
          <g class="edge ${fade(ofChosen.includes(edge))}"><title>${edge.sentence}</title><text x=${x} y=${y}>${edge.relation}</text></g>
        `,
      )}
      ${nodes.map(
        (node) => html`
          <g key=${node.name} class="node ${node.type} ${fade(node.name === chosen || near.has(node.name))}" transform="translate(${node.x} ${node.y})" tabindex="0" role="button"
            aria-pressed=${node.name === chosen ? 'true' : 'false'} aria-label="${node.name}, ${node.type}"
            onPointerDown=${(/** @type {PointerEvent} */ event) => drag(event, node)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => onKeyDown(event, node)}
            onClick=${() => onChoose(chosen === node.name ? null : node.name)}>
            <circle r=${radius(node)} />
            <text y=${radius(node) + 13}>${node.label}</text>
          </g>
        `,
      )}
    </svg>
    ${nodes.length < all && html`<p class="muted">The ${nodes.length} with most relations, of ${all} entities.</p>`}
  `;
}

/** @param {SVGSVGElement | null} svg @param {PointerEvent} event */
function pointIn(svg, { clientX, clientY }) {
  const matrix = svg?.getScreenCTM()?.inverse();
  return matrix && new DOMPoint(clientX, clientY).matrixTransform(matrix);
}

/** The relations of the chosen entity, with their sentences. @param {{ relations: Schemas['Relation'][], chosen: string | null }} props */
export function Relations({ relations, chosen }) {
  const shown = chosen === null ? [] : relations.filter(({ source, target }) => source === chosen || target === chosen);
  return html`
    <ul class="rows">
      ${shown.map(
        ({ source, relation, target, evidence }) => html`
          <li><span class="grow"><b>${source}</b> ${relation} <b>${target}</b><br /><small class="muted">${evidence[0]?.sentence}</small></span></li>
        `,
      )}
    </ul>
  `;
}
