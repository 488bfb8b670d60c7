import { useState } from 'preact/hooks';
import { html } from './html.js';

/** Copies a text. Browsers give the clipboard to pages with TLS or on this machine only. @param {{ text: string, label?: string }} props */
export function CopyButton({ text, label = 'Copy' }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setSaid(copied ? 'Copied' : 'Not allowed here');
    setTimeout(() => setSaid(''), 1_500);
  };
  return html`<button type="button" class="quiet copy" onClick=${copy}><span aria-live="polite">${said || label}</span></button>`;
}
