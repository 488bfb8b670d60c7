import { useState } from 'preact/hooks';
import { html } from './html.js';
import { Block, CopyButton, Segmented } from './ui.js';

/**
 * The same code in several languages.
 * @param {object} props
 * @param {Record<string, string>} props.samples by language
 * @param {(language: string) => string} props.describe what the code is, for screen readers
 * @param {string} [props.name] of the section
 * @param {(language: string) => import('./ui.js').Children} [props.note] below the code
 */
export function Samples({ samples, describe, name, note }) {
  const languages = Object.keys(samples);
  const [language, setLanguage] = useState(languages[0] ?? '');
  const code = samples[language] ?? '';
  return html`
    <section class="samples" aria-label=${name}>
      <div class="samples-head">
        <${Segmented} label="Language" value=${language} options=${languages.map((each) => [each, each])} onChange=${setLanguage} />
        <${CopyButton} text=${code} />
      </div>
      <${Block} label=${describe(language)}>${code}</${Block}>
      ${note && html`<p class="muted">${note(language)}</p>`}
    </section>
  `;
}
