import { useState } from 'preact/hooks';
import { CopyButton } from './copy.js';
import { html } from './html.js';

/** A request for scripts. @param {{ samples: Record<'curl' | 'TypeScript', string> }} props */
export function RequestSamples({ samples }) {
  const [chosen, setChosen] = useState(/** @type {keyof typeof samples} */ ('curl'));
  const languages = /** @type {(keyof typeof samples)[]} */ (Object.keys(samples));
  return html`
    <section class="samples" aria-label="The same request">
      <div class="samples-head">
        <div class="segmented" role="group" aria-label="Language">
          ${languages.map((name) => html`<button type="button" aria-pressed=${name === chosen ? 'true' : 'false'} onClick=${() => setChosen(name)}>${name}</button>`)}
        </div>
        <${CopyButton} text=${samples[chosen]} />
      </div>
      <pre class="block" tabindex="0" role="region" aria-label=${`The request for ${chosen}`}>${samples[chosen]}</pre>
      <p class="muted">${chosen === 'curl' ? html`<code>eval "$(./postback env)"</code> sets the variables.` : html`The package <code>postback-client</code> is in <code>client/</code>.`}</p>
    </section>
  `;
}
