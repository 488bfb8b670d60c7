import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { html } from '../html.js';
import { useAction, useGet } from '../live.js';
import { kickoffSamples, RequestSamples } from '../request-samples.js';
import { go } from '../router.js';
import * as ui from '../ui.js';
import { CallbackFields, givenUrls, urlsOf } from './callbacks.js';

/** @typedef {{ name: string, description: string | null, default: string | null }} InputSettings */

/** A form that starts an execution, and shows it. @param {{ crew: string }} props */
export function Kickoff({ crew }) {
  const path = `/crews/${encodeURIComponent(crew)}`;
  const inputs = useGet(`${path}/inputs`, 0, 'crew');
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const [urls, setUrls] = useState(() => urlsOf({}));
  const names = /** @type {string[] | undefined} */ (inputs.data?.inputs);
  const settings = new Map((inputs.data?.details ?? []).map((/** @type {InputSettings} */ each) => [each.name, each]));
  const given = Object.fromEntries(
    (names ?? []).filter((name) => values[name]?.trim()).map((name) => [name, values[name] ?? '']),
  );
  const receivers = givenUrls(urls);

  const start = useAction(async () => {
    const body = { inputs: given, ...receivers };
    const { kickoff_id } = await call('POST', `${path}/kickoff`, { body, as: 'crew' });
    go('crews', { crew, run: crew, id: kickoff_id });
  });

  return html`
    <section class="card" aria-label="Start an execution">
      <h2>Start an execution</h2>
      <${ui.Problem} error=${inputs.error} retry=${inputs.refresh} />
      <form class="kickoff" onSubmit=${start.submit}>
        ${names?.map((name) => {
          const { description = null, default: usual = null } = settings.get(name) ?? {};
          return html`
            <${ui.Field} as="textarea" label=${`${name.replaceAll('_', ' ')}${usual === null ? '' : ', optional'}`} rows="2" name=${name}
              required=${usual === null} value=${values[name] ?? ''} placeholder=${usual ?? ''}
              onInput=${(/** @type {string} */ value) => setValues({ ...values, [name]: value })}>
              ${description && html`<small>${description}</small>`}
            </${ui.Field}>
          `;
        })}
        <details>
          <summary>Callbacks</summary>
          <${CallbackFields} urls=${urls} onChange=${setUrls} />
        </details>
        <${ui.Problem} error=${start.error} />
        <div class="decision"><button type="submit" class="primary" disabled=${start.busy || !names}>Start</button></div>
      </form>
      <details>
        <summary>The same request for a script</summary>
        <${RequestSamples} samples=${kickoffSamples({ crew, inputs: given, urls: receivers })} />
      </details>
    </section>
  `;
}
