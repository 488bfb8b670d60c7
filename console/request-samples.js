import { html } from './html.js';
import { Samples } from './samples.js';

/** A request for scripts. @param {{ samples: Record<'curl' | 'TypeScript', string> }} props */
export const RequestSamples = ({ samples }) => html`
  <${Samples} name="The same request" samples=${samples} describe=${(/** @type {string} */ language) => `The request for ${language}`}
    note=${(/** @type {string} */ language) => (language === 'curl' ? html`<code>eval "$(./postback env)"</code> sets the variables.` : html`The package <code>postback-client</code> is in <code>client/</code>.`)} />
`;

/**
 * The request of a job as a script sends it.
 *
 * @typedef {object} JobRequest
 * @property {string} model
 * @property {Record<string, unknown>} input
 * @property {string} [filename] of an upload, whose id then takes the place of `input.file`
 */

/** For bash, with the variables of `postback env`. @param {JobRequest} request */
function jobForShell({ model, input, filename }) {
  const headers = '-H "Authorization: Bearer $POSTBACK_KEY"';
  const body = quoteForShell(JSON.stringify({ model, input: filename ? { ...input, file: '$FILE_ID' } : input }));
  const upload = filename
    ? `FILE_ID=$(curl -sS "$POSTBACK_URL/v3/upload" ${headers} \\
  -F ${quoteForShell(`file=@"${filename}"`)} | grep -o 'fil_[A-Za-z0-9_]*')

`
    : '';
  return `${upload}curl -sS "$POSTBACK_URL/v3/ai/async" ${headers} \\
  -H 'Content-Type: application/json' \\
  -d ${filename ? body.replace('$FILE_ID', `'"$FILE_ID"'`) : body}

# Its result, with the job_id of the response:
# curl -sS "$POSTBACK_URL/v3/ai/async/$JOB_ID" ${headers}`;
}

/** With the typed client `postback-client`. @param {JobRequest} request */
function jobInTypescript({ model, input, filename }) {
  const { file, ...rest } = input;
  const fields = filename ? ['file: file_id', ...literals(rest)] : literals(input);
  const upload = filename
    ? `
const file = new File([await readFile(${literal(filename)})], ${literal(filename)});
const { file_id } = await bodyOf(postback.POST('/v3/upload', { body: { file }, bodySerializer: multipart }));`
    : '';
  return `${filename ? "import { readFile } from 'node:fs/promises';\n" : ''}import { setTimeout as wait } from 'node:timers/promises';
import { bodyOf, createPostback${filename ? ', multipart' : ''} } from 'postback-client';

const postback = createPostback({ url: process.env.POSTBACK_URL!, key: process.env.POSTBACK_KEY! });${upload}
const { job_id } = await bodyOf(
  postback.POST('/v3/ai/async', {
    body: {
      model: ${literal(model)},
      input: { ${fields.join(', ')} },
    },
  }),
);
const path = { job_id };
let job = await bodyOf(postback.GET('/v3/ai/async/{job_id}', { params: { path } }));
while (!job.finished_at) {
  await wait(500);
  job = await bodyOf(postback.GET('/v3/ai/async/{job_id}', { params: { path } }));
}
console.log(job.output ?? job.error);`;
}

/** @param {JobRequest} request */
export const jobSamples = (request) => ({ curl: jobForShell(request), TypeScript: jobInTypescript(request) });

/** @typedef {{ crew: string, inputs: Record<string, string>, urls: Record<string, string> }} Kickoff */

/** A kickoff for scripts: for bash, and with the typed client. @param {Kickoff} kickoff */
export const kickoffSamples = (kickoff) => ({
  curl: kickoffForShell(kickoff),
  TypeScript: kickoffInTypescript(kickoff),
});

/** @param {Kickoff} kickoff */
function kickoffForShell({ crew, inputs, urls }) {
  const headers = '-H "Authorization: Bearer $POSTBACK_CREW_KEY"';
  return `curl -sS "$POSTBACK_URL/crews/${crew}/kickoff" ${headers} \\
  -H 'Content-Type: application/json' \\
  -d ${quoteForShell(JSON.stringify({ inputs, ...urls }))}

# What it does, with the kickoff_id of the response:
# curl -sS "$POSTBACK_URL/crews/${crew}/$KICKOFF_ID/status" ${headers}`;
}

/** @param {Kickoff} kickoff */
const kickoffInTypescript = ({ crew, inputs, urls }) => `import { bodyOf, createPostback } from 'postback-client';

const postback = createPostback({ url: process.env.POSTBACK_URL!, key: process.env.POSTBACK_CREW_KEY! });
const path = { crew: ${literal(crew)} };
const { kickoff_id } = await bodyOf(
  postback.POST('/crews/{crew}/kickoff', {
    params: { path },
    body: { ${[`inputs: { ${literals(inputs).join(', ')} }`, ...literals(urls)].join(', ')} },
  }),
);
const status = await bodyOf(
  postback.GET('/crews/{crew}/{kickoff_id}/status', { params: { path: { ...path, kickoff_id } } }),
);
console.log(status.status, status.current_task);`;

/** @param {string} text */
const quoteForShell = (text) => (/^[\w./@:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** In TypeScript. @param {unknown} value */
const literal = (value) => (typeof value === 'string' && !/['\\\n]/.test(value) ? `'${value}'` : JSON.stringify(value));

/** The fields of an object in TypeScript. @param {Record<string, unknown>} fields */
const literals = (fields) =>
  Object.entries(fields).map(
    ([name, value]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)}: ${literal(value)}`,
  );
