import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.js';

/** Pictures that browsers show. */
const SHOWN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/bmp'];
/** The width in pixels to which a page of a PDF is drawn: enough for its small print on a dense screen. */
const DRAWN_WIDTH = 1_400;

/** Whether there can be a picture of a page of this file. @param {Blob} blob */
export const canShow = ({ type }) => SHOWN.includes(type) || type === 'application/pdf';

/**
 * A page of a file, with boxes over it.
 * @typedef {{ left: number, top: number, width: number, height: number }} Box in fractions of the page
 * @param {{ blob: Blob, page: number, boxes: Box[], chosen: number | undefined, onChoose: (index: number | undefined) => void }} props
 */
export function PagePicture({ blob, page, boxes, chosen, onChoose }) {
  return html`
    <div class="page-picture">
      ${blob.type === 'application/pdf' ? html`<${PdfPage} blob=${blob} page=${page} />` : html`<${Picture} blob=${blob} page=${page} />`}
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true" onMouseLeave=${() => onChoose(undefined)}>
        ${boxes.map(
          ({ left, top, width, height }, index) => html`
            <rect x=${left} y=${top} width=${width} height=${height} class=${index === chosen ? 'chosen' : ''} onMouseEnter=${() => onChoose(index)} />
          `,
        )}
      </svg>
    </div>
  `;
}

/** @param {{ blob: Blob, page: number }} props */
function Picture({ blob, page }) {
  const [source, setSource] = useState('');
  useEffect(() => {
    const url = URL.createObjectURL(blob);
    setSource(url);
    return () => URL.revokeObjectURL(url);
  }, [blob]);
  return source && html`<img src=${source} alt=${`Page ${page} of the file`} />`;
}

/** @param {{ blob: Blob, page: number }} props */
function PdfPage({ blob, page }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let ended = false;
    setProblem('');
    const draw = async () => {
      const { openPdf } = await import('./pdf.js');
      const pdf = await openPdf(blob);
      if (ended || !canvas.current) return;
      await pdf.draw(page, canvas.current, DRAWN_WIDTH);
    };
    draw().catch(() => ended || setProblem('This page cannot be drawn here.'));
    return () => {
      ended = true;
    };
  }, [blob, page]);
  return html`
    <canvas ref=${canvas} role="img" aria-label=${`Page ${page} of the file`}></canvas>
    ${problem && html`<p class="muted">${problem}</p>`}
  `;
}
