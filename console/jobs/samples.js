import { literal, literals, quoteForShell } from '../literals.js';

/**
 * The request of a job as a script sends it.
 *
 * @typedef {object} JobRequest
 * @property {string} model
 * @property {Record<string, unknown>} input
 * @property {string} [filename] of an upload, whose id then takes the place of `input.file`
 */

/** For bash, with the variables of `postback env`. @param {JobRequest} request */
function curlSample({ model, input, filename }) {
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
function typescriptSample({ model, input, filename }) {
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
export const jobSamples = (request) => ({ curl: curlSample(request), TypeScript: typescriptSample(request) });
