import { join, relative } from 'node:path';
import { styleText } from 'node:util';
import type { Config } from '../runtime/config.js';
import { type DevelopmentFile, developmentFilePath } from './data-folder.js';

/**
 * The message that `npm start` prints when the instance is ready: addresses, a key, and commands to paste.
 * @param noModelReason why there is no embedding model; null when there is one
 */
export function welcome(file: DevelopmentFile, noModelReason: string | null, config: Config): string {
  const { OUTBOUND_ALLOW_CIDRS: allowedCidrs, POSTBACK_DATA_DIR: dataDir } = config;
  const shown = (path: string) => relative('', path);
  const bold = (text: string) => styleText('bold', text);
  const dim = (text: string) => styleText('dim', text);
  const webhookTargets = allowedCidrs
    ? `Webhooks are also sent to ${allowedCidrs} (OUTBOUND_ALLOW_CIDRS).`
    : 'Webhooks are sent to public https addresses only. For a receiver on this machine: OUTBOUND_ALLOW_CIDRS=127.0.0.0/8 npm start';
  const embeddings =
    noModelReason === null
      ? 'on: hybrid search by full text and vectors'
      : styleText('yellow', `off: full text search only (${noModelReason})`);
  return `
${styleText('green', '●')} ${bold('Postback is ready')}

  API           ${bold(file.api_url)}
  API docs      ${file.api_url}/docs
  Temporal UI   ${file.temporal_ui_url ?? '(see your Temporal server)'}
  API key       ${bold(file.keys.api)}
                ${dim(`new at each start; all development keys are in ${shown(developmentFilePath(dataDir))}`)}
  Embeddings    ${embeddings}
  Logs          ${shown(join(dataDir, 'logs'))}

${bold('Try it')} ${dim('(paste into another terminal)')}

  postback() { curl -sS -w '\\n' -H "Authorization: Bearer ${file.keys.api}" -H 'API-Version: 2' "$@"; }; API=${file.api_url}
  postback $API/databases -d '{"database":"library"}'
  until postback "$API/databases/status?database=library" | grep '"ready_for_ingestion":true'; do sleep 1; done
  postback $API/context/ingest -F database=library -F documents=@README.md -F 'document_metadata=[{"id":"readme"}]' -F upsert=true
  until postback "$API/context/status?database=library&id=readme" | grep -E 'completed|errored'; do sleep 1; done
  postback $API/query -d '{"database":"library","query":"What does Postback do?","max_results":2}'

  ${dim(webhookTargets)}
  ${dim('npm run demo ingests files, receives webhooks and asks a question. Press Ctrl-C to stop.')}
`;
}
