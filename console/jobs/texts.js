import { duration, plural } from '../format.js';
import { html } from '../html.js';
import { CopyButton } from '../ui.js';

/** @typedef {{ text: string, type: string, mentions: { start: number, end: number }[] }} Entity */

/** A text to read and to copy. @param {{ text: string, label: string }} props */
export const Prose = ({ text, label }) => html`
  <div class="result-head"><span class="muted">${label}</span><${CopyButton} text=${text} /></div>
  <div class="prose" tabindex="0" role="region" aria-label=${label}>${text}</div>
`;

/** @param {{ output: { title: string | null, text: string, sections: { text: string, headings: string[], page: number | null, sheet: string | null }[] } }} props */
export function Sections({ output: { title, text, sections } }) {
  return html`
    <div class="result-head"><strong>${title ?? plural(sections.length, 'section')}</strong><${CopyButton} text=${text} /></div>
    <div class="prose" tabindex="0" role="region" aria-label="Text of the document">
      ${sections.map(({ text: own, headings, page, sheet }, index) => {
        const place = sheet ?? (page === null ? '' : `page ${page}`);
        const before = sections[index - 1];
        const isNew = headings.join('\n') !== before?.headings.join('\n');
        return html`
          <section>
            ${(isNew || place) && html`<div class="section-place">${isNew && html`<strong>${headings.join(' › ')}</strong>`}<span class="muted">${place}</span></div>`}
            ${own}
          </section>
        `;
      })}
    </div>
  `;
}

/** @param {{ output: { language: string | null, reliable: boolean, candidates: { language: string, display_name: string, confidence: number }[] } }} props */
export function Language({ output: { language, reliable, candidates } }) {
  const name = candidates.find((each) => each.language === language)?.display_name;
  return html`
    <p class="verdict">${language === null ? 'No language was recognised' : (name ?? language)}</p>
    <p class="muted">${reliable ? 'Reliable.' : 'Not reliable: the text is short, or mixes languages.'}</p>
    <${Bars} label="Languages" entries=${candidates.map((each) => [each.display_name, each.confidence, `${Math.round(each.confidence * 100)} %`])} />
  `;
}

const TONES = /** @type {Record<string, string>} */ ({
  positive: 'good',
  negative: 'bad',
  mixed: 'warn',
  neutral: 'idle',
});

/** @param {{ output: { sentiment: string, score: number, sentences: { text: string, sentiment: string, score: number }[] } }} props */
export const Sentiment = ({ output: { sentiment, score, sentences } }) => html`
  <p class="verdict"><span class="state ${TONES[sentiment]}">${sentiment}</span> <small>score ${score.toFixed(2)}, from −1 to 1</small></p>
  <ul class="rows">
    ${sentences.map((each) => html`<li><span class="grow">${each.text}</span><span class="state ${TONES[each.sentiment]}">${each.sentiment}</span></li>`)}
  </ul>
`;

/** Entities in their text, or by themselves when the text came from a file. @param {{ output: { entities: Entity[] }, text: unknown }} props */
export function Entities({ output: { entities }, text }) {
  if (entities.length === 0) return html`<p class="muted">No entity was found.</p>`;
  const types = [...new Set(entities.map(({ type }) => type))];
  return html`
    ${
      typeof text === 'string' &&
      html`
        <div class="prose entities" tabindex="0" role="region" aria-label="The text with its entities">
          ${marked(text, entities).map((piece) => (typeof piece === 'string' ? piece : html`<mark class=${piece.type}>${piece.text}<small>${piece.type}</small></mark>`))}
        </div>
      `
    }
    <dl class="facts entity-list">
      ${types.map(
        (type) => html`
          <div><dt>${type}</dt><dd>${entities.filter((each) => each.type === type).map(({ text: name, mentions }, index) => `${index > 0 ? ', ' : ''}${name}${mentions.length > 1 ? ` (${mentions.length})` : ''}`)}</dd></div>
        `,
      )}
    </dl>
  `;
}

/**
 * Cuts a text at its entities.
 * @param {string} text
 * @param {Entity[]} entities
 * @returns {(string | { text: string, type: string })[]}
 */
function marked(text, entities) {
  const mentions = entities
    .flatMap(({ type, mentions: found }) => found.map(({ start, end }) => ({ start, end, type })))
    .sort((a, b) => a.start - b.start || b.end - a.end);
  /** @type {(string | { text: string, type: string })[]} */
  const pieces = [];
  let at = 0;
  for (const { start, end, type } of mentions) {
    // Inside the one before.
    if (start < at) continue;
    pieces.push(text.slice(at, start), { text: text.slice(start, end), type });
    at = end;
  }
  return [...pieces, text.slice(at)];
}

/** @param {{ output: { keywords: { keyword: string, importance: number, count: number }[] } }} props */
export const Keywords = ({ output: { keywords } }) => html`
  <${Bars} label="Keywords" entries=${keywords.map(({ keyword, importance, count }) => [keyword, importance, plural(count, 'time')])} />
`;

/** @param {{ output: { text: string, segments: { start: number, end: number, text: string }[], duration_seconds: number | null } }} props */
export const Transcript = ({ output: { text, segments, duration_seconds } }) => html`
  <${Prose} text=${text} label=${duration_seconds === null ? 'Transcript' : `Transcript of ${duration(duration_seconds * 1000)}`} />
  ${
    segments.length > 0 &&
    html`<ol class="rows">${segments.map((segment) => html`<li><span class="muted number">${clock(segment.start)}</span><span class="grow">${segment.text}</span></li>`)}</ol>`
  }
`;

/** @param {{ messages: unknown, text: string, cut: boolean }} props */
export const Conversation = ({ messages, text, cut }) => html`
  <ol class="conversation">
    ${(Array.isArray(messages) ? messages : []).map((/** @type {{ role: string, content: string }} */ { role, content }) => html`<li class=${role}><small>${role}</small>${content}</li>`)}
    <li class="assistant"><div class="result-head"><small>assistant</small><${CopyButton} text=${text} /></div>${text}</li>
  </ol>
  ${cut && html`<p class="muted">The message was cut off at a limit.</p>`}
`;

/** @param {{ label: string, entries: [name: string, fraction: number, note: string][] }} props */
const Bars = ({ label, entries }) => html`
  <ul class="bars" aria-label=${label}>
    ${entries.map(([name, fraction, note]) => html`<li><span>${name}</span><progress value=${fraction} max="1" aria-label=${name}></progress><span class="muted number">${note}</span></li>`)}
  </ul>
`;

/** @param {number} seconds */
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
