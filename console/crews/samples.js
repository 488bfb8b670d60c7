import { literal, literals, quoteForShell } from '../literals.js';

/** @typedef {{ crew: string, inputs: Record<string, string>, urls: Record<string, string> }} Kickoff */

/** A kickoff for scripts: for bash, and with the typed client. @param {Kickoff} kickoff */
export const kickoffSamples = (kickoff) => ({ curl: curlSample(kickoff), TypeScript: typescriptSample(kickoff) });

/** @param {Kickoff} kickoff */
function curlSample({ crew, inputs, urls }) {
  const headers = '-H "Authorization: Bearer $POSTBACK_CREW_KEY"';
  return `curl -sS "$POSTBACK_URL/crews/${crew}/kickoff" ${headers} \\
  -H 'Content-Type: application/json' \\
  -d ${quoteForShell(JSON.stringify({ inputs, ...urls }))}

# What it does, with the kickoff_id of the response:
# curl -sS "$POSTBACK_URL/crews/${crew}/$KICKOFF_ID/status" ${headers}`;
}

/** @param {Kickoff} kickoff */
const typescriptSample = ({ crew, inputs, urls }) => `import { bodyOf, createPostback } from 'postback-client';

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
