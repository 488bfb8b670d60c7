import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { html } from '../html.js';
import { useAction, useGet } from '../live.js';
import { jobSamples, RequestSamples } from '../request-samples.js';
import { change, go, linkTo, useFocusOnTitle } from '../router.js';
import * as ui from '../ui.js';
import { FileField } from './file-field.js';
import { givenSettings, SettingsFields } from './settings-fields.js';

/** @typedef {import('../api.js').Schemas['AiModel']} AiModel */

/** Where the material of a job comes from. */
const SOURCES = /** @type {const} */ ({ text: 'Text', file: 'File', url: 'Address' });
/** @typedef {keyof typeof SOURCES} Source */

/** A form that submits a job. @param {{ parameters: Record<string, string> }} props */
export function NewJob({ parameters }) {
  const catalogue = useGet('/v3/ai/models', 0);
  const models = /** @type {AiModel[] | undefined} */ (catalogue.data?.models);
  const model = models?.find((each) => each.model === parameters.new) ?? models?.[0];
  useFocusOnTitle('new job');
  return html`
    <${ui.Page} title="New job" actions=${html`<a class="button quiet" href=${linkTo('jobs')}>All jobs</a>`}>
      <${ui.Loaded} of=${catalogue} retry=${catalogue.refresh} />
      ${models && (model ? html`<${JobForm} models=${models} model=${model} maxBytes=${catalogue.data.max_file_bytes} />` : html`<${ui.Empty} title="This instance offers no AI jobs."></${ui.Empty}>`)}
    </${ui.Page}>
  `;
}

/** @param {{ models: AiModel[], model: AiModel, maxBytes: number }} props */
function JobForm({ models, model, maxBytes }) {
  const [source, setSource] = useState(/** @type {Source} */ ('text'));
  const [text, setText] = useState('');
  const [url, setUrl] = useState('');
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  const [providerModel, setProviderModel] = useState('');
  const [settings, setSettings] = useState(/** @type {Record<string, string>} */ ({}));
  const [progress, setProgress] = useState('');

  const sources = sourcesOf(model);
  const from = sources.includes(source) ? source : /** @type {Source} */ (sources[0]);
  const known = model.provider_models?.known.includes(providerModel) ? `/${providerModel}` : '';
  const name = `${model.model}${known}`;
  const given = givenSettings(model, settings);
  const material = { text: materialOf(model, text), url: { file: url.trim() }, file: {} }[from];
  const shown = {
    model: name,
    input: { ...material, ...given },
    ...(from === 'file' ? { filename: file?.name ?? 'scan.png' } : {}),
  };

  const form = useAction(
    async () => {
      if (from === 'file' && !file) throw new Error('Choose a file first.');
      if (from === 'text' && !text.trim()) throw new Error('Type a text first.');
      let input = { ...material, ...given };
      if (from === 'file' && file) {
        const data = new FormData();
        data.append('file', file);
        const onProgress = (/** @type {number} */ share) =>
          setProgress(`Sending the file, ${Math.round(100 * share)} %…`);
        const { file_id } = await call('POST', '/v3/upload', { form: data, onProgress });
        input = { file: file_id, ...given };
      }
      setProgress('Submitting…');
      const { job_id } = await call('POST', '/v3/ai/async', { body: { model: name, input } });
      go('jobs', { id: job_id });
    },
    () => setProgress(''),
  );

  return html`
    <form class="halves new-job" onSubmit=${form.submit}>
      <div class="card">
        <${FeatureChoice} models=${models} model=${model} />
        ${
          model.provider_models &&
          html`<${ui.Select} label="Model" value=${providerModel || model.provider_models.default} onChange=${setProviderModel}
            options=${model.provider_models.known.map((each) => [each, each])} />`
        }
        ${
          sources.length > 1 &&
          html`<${ui.Segmented} label="Input" value=${from} options=${sources.map((each) => [each, SOURCES[each]])} onChange=${setSource} />`
        }
        ${from === 'file' && html`<${FileField} file=${file} maxBytes=${maxBytes} onChange=${setFile} />`}
        ${
          from === 'text' &&
          html`<${ui.Field} as="textarea" label=${model.takes === 'messages' ? 'Message' : 'Text'} rows="9" value=${text} onInput=${setText} />`
        }
        ${
          from === 'url' &&
          html`<${ui.Field} label="Address of the file" type="url" required pattern="https?://.+" placeholder="https://" value=${url} onInput=${setUrl} />`
        }
        <${SettingsFields} model=${model} values=${settings} onChange=${setSettings} />
        <${ui.Problem} error=${form.error} />
        <div class="decision">
          <button type="submit" class="primary" disabled=${form.busy}>Submit</button>
          <span class="muted" role="status">${progress}</span>
        </div>
      </div>
      <div class="card">
        <h2>The same request</h2>
        <${RequestSamples} samples=${jobSamples(shown)} />
      </div>
    </form>
  `;
}

/** The features by the first part of their names, and the provider where a subfeature has several. @param {{ models: AiModel[], model: AiModel }} props */
function FeatureChoice({ models, model }) {
  const features = [...new Set(models.map(({ feature }) => feature))];
  const several = new Set(
    models.filter(({ feature, subfeature, provider }) =>
      models.some(
        (other) => other.feature === feature && other.subfeature === subfeature && other.provider !== provider,
      ),
    ),
  );
  return html`
    <div>
      <label class="field"><span>Feature</span>
      <select value=${model.model} onChange=${(/** @type {any} */ event) => change({ new: event.target.value })}>
        ${features.map(
          (name) => html`
            <optgroup label=${name}>
              ${models.filter(({ feature }) => feature === name).map((each) => html`<option value=${each.model} selected=${each === model}>${each.summary}${several.has(each) ? `, by ${each.provider}` : ''}</option>`)}
            </optgroup>
          `,
        )}
      </select>
      </label>
      <small><code>${model.model}</code></small>
    </div>
  `;
}

/** @param {AiModel} model @returns {Source[]} */
function sourcesOf({ input }) {
  const { text, messages, file } = /** @type {Record<string, unknown>} */ (input.properties ?? {});
  return [
    ...(text || messages ? [/** @type {const} */ ('text')] : []),
    ...(file ? /** @type {const} */ (['file', 'url']) : []),
  ];
}

/** @param {AiModel} model @param {string} text @returns {Record<string, unknown>} */
const materialOf = ({ takes }, text) =>
  takes === 'messages' ? { messages: [{ role: 'user', content: text }] } : { text };
