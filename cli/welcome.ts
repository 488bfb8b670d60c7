import { join, relative } from 'node:path';
import { styleText } from 'node:util';
import type { Config } from '../runtime/config.js';
import { type DevelopmentFile, developmentFile } from './running-instance.js';

/** What a person needs after `npm start`: where everything is, a key, and lines that can be pasted as they are. */
export function welcome(file: DevelopmentFile, noModel: string | null, config: Config): string {
  const { OUTBOUND_ALLOW_CIDRS: allowedCidrs, POSTBACK_DATA_DIR: dataDir } = config;
  const near = (path: string) => relative('', path);
  const bold = (text: string) => styleText('bold', text);
  const dim = (text: string) => styleText('dim', text);
  const receiver = allowedCidrs
    ? `Webhooks may also go to ${allowedCidrs} (OUTBOUND_ALLOW_CIDRS).`
    : 'Webhooks go to public https addresses only. For a receiver on this machine: OUTBOUND_ALLOW_CIDRS=127.0.0.0/8 npm start';
  return `
${styleText('green', '●')} ${bold('Postback is ready')}

  API           ${bold(file.api_url)}
  Every route   ${file.api_url}/docs
  Temporal UI   ${file.temporal_ui_url ?? '(that of your Temporal)'}
  API key       ${bold(file.keys.api)}
                ${dim(`fresh at each start; all development keys are in ${near(developmentFile(dataDir))}`)}
  Embeddings    ${noModel === null ? 'hybrid search: full text and vectors' : styleText('yellow', `none, full text search only (${noModel})`)}
  Logs          ${near(join(dataDir, 'logs'))}

${bold('Try it')} ${dim('(paste it into another terminal)')}

  postback() { curl -sS -w '\\n' -H "Authorization: Bearer ${file.keys.api}" -H 'API-Version: 2' "$@"; }; API=${file.api_url}
  postback $API/databases -d '{"database":"library"}'
  until postback "$API/databases/status?database=library" | grep '"ready_for_ingestion":true'; do sleep 1; done
  postback $API/context/ingest -F database=library -F documents=@README.md -F 'document_metadata=[{"id":"readme"}]' -F upsert=true
  until postback "$API/context/status?database=library&id=readme" | grep -E 'completed|errored'; do sleep 1; done
  postback $API/query -d '{"database":"library","query":"What does Postback do?","max_results":2}'

  ${dim(receiver)}
  ${dim('npm run demo shows the whole path, webhooks included. Ctrl-C stops everything.')}
`;
}
