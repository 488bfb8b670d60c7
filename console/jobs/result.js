import { html } from '../html.js';
import * as ui from '../ui.js';
import { OcrPages, OcrTables } from './pages.js';
import * as texts from './texts.js';

/** @typedef {Record<string, any>} Fields */

/**
 * How the output of each subfeature is shown.
 * @type {Record<string, (output: Fields, input: Fields) => import('../ui.js').Children>}
 */
const VIEWS = {
  'ocr/ocr_async': (output, { file }) => html`<${OcrPages} output=${output} file=${file} />`,
  'ocr/ocr_tables_async': (output, { file }) => html`<${OcrTables} output=${output} file=${file} />`,
  'document/text_extraction': (output) => html`<${texts.Sections} output=${output} />`,
  'text/language_detection': (output) => html`<${texts.Language} output=${output} />`,
  'text/sentiment_analysis': (output) => html`<${texts.Sentiment} output=${output} />`,
  'text/named_entity_recognition': (output, { text }) => html`<${texts.Entities} output=${output} text=${text} />`,
  'text/keyword_extraction': (output) => html`<${texts.Keywords} output=${output} />`,
  'text/summarize': (output) => html`<${texts.Prose} text=${output.summary} label="Summary" />`,
  'text/chat': ({ text, finish_reason }, { messages }) =>
    html`<${texts.Conversation} messages=${messages} text=${text} cut=${finish_reason === 'length'} />`,
  'translation/automatic_translation': ({ text, target_language }, input) => html`
    <div class="halves beside">
      ${input.text && html`<div><${texts.Prose} text=${input.text} label="Text" /></div>`}
      <div><${texts.Prose} text=${text} label=${`Translation (${target_language})`} /></div>
    </div>
  `,
  'image/captioning': ({ caption }) => html`<${texts.Prose} text=${caption} label="Caption" />`,
  'audio/speech_to_text_async': (output) => html`<${texts.Transcript} output=${output} />`,
};

/**
 * The output of a job as a person reads it, and as it is.
 * @param {{ job: import('../api.js').Schemas['Job'], input: Fields | undefined }} props
 */
export function JobResult({ job: { feature, subfeature, output }, input }) {
  const view = VIEWS[`${feature}/${subfeature}`];
  if (!view) return html`<${ui.Json} label="Output" value=${output} />`;
  return html`
    <div class="job-result">${input ? view(/** @type {Fields} */ (output), input) : html`<${ui.Loading} lines=${3} />`}</div>
    <details>
      <summary>As JSON</summary>
      <${ui.Json} label="Output" value=${output} />
    </details>
  `;
}
