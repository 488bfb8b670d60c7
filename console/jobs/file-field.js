import { useRef, useState } from 'preact/hooks';
import { bytes } from '../format.js';
import { html } from '../html.js';

/**
 * Takes one file: dropped, or chosen. One that is too large is rejected here, before it is sent.
 * @param {{ file: File | null, maxBytes: number | undefined, onChange: (file: File | null) => void }} props
 */
export function FileField({ file, maxBytes, onChange }) {
  const [isOver, setIsOver] = useState(false);
  const [problem, setProblem] = useState('');
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  /** @param {File | undefined} given */
  const take = (given) => {
    if (!given) return;
    const excess = maxBytes !== undefined && given.size > maxBytes;
    const size = `${given.name} has ${bytes(given.size)}.`;
    setProblem(
      excess
        ? `${size} This server takes files up to ${bytes(maxBytes)}.`
        : given.size === 0
          ? `${given.name} is empty.`
          : '',
    );
    onChange(excess || given.size === 0 ? null : given);
  };
  /** @param {DragEvent} event */
  const onDrop = (event) => {
    event.preventDefault();
    setIsOver(false);
    take(event.dataTransfer?.files[0]);
  };
  /** @param {DragEvent} event */
  const onDragOver = (event) => {
    event.preventDefault();
    setIsOver(true);
  };
  return html`
    <div class="drop ${isOver ? 'over' : ''}" onDrop=${onDrop} onDragOver=${onDragOver} onDragLeave=${() => setIsOver(false)}>
      <label>
        <input ref=${input} type="file" aria-label="File" onChange=${(/** @type {any} */ event) => take(event.target.files[0])} />
        <strong>${file ? file.name : 'Drop a file here, or choose it'}</strong>
        <span class="muted">${file ? bytes(file.size) : maxBytes !== undefined && `up to ${bytes(maxBytes)}`}</span>
      </label>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    </div>
  `;
}
