import { join, relative } from 'node:path';
import { styleText } from 'node:util';
import type { Config } from '../runtime/config.js';
import { COMMANDS } from './commands.js';
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
  const receivers = allowedCidrs
    ? `also in ${allowedCidrs}`
    : `public https; for this machine:\n${' '.repeat(16)}OUTBOUND_ALLOW_CIDRS=127.0.0.0/8 ${COMMANDS.start}`;
  const embeddings =
    noModelReason === null
      ? 'on: search by text and vectors'
      : styleText('yellow', `off: search by text only (${noModelReason})`);
  return `
${styleText('green', '●')} ${bold('Postback is ready')}

  API           ${bold(file.api_url)}
  Console       ${file.api_url}/console
  API docs      ${file.api_url}/docs
  Temporal UI   ${file.temporal_ui_url ?? '(see your Temporal server)'}
  API key       ${bold(file.keys.api)}
                ${dim(`new at each start; all kinds are in ${shown(developmentFilePath(dataDir))}`)}
  Embeddings    ${embeddings}
  Receivers     ${receivers}
  Logs          ${shown(join(dataDir, 'logs'))}

${bold('Try it')} ${dim('in another terminal')}
  ${COMMANDS.postback} databases create library
  ${COMMANDS.postback} ingest ${COMMANDS.examples} --database library --watch
  ${COMMANDS.postback} query "How often does the lamp flash?" --database library
  KEY=${file.keys.api}
  curl '${file.api_url}/context/list?database=library' \\
    -H 'API-Version: 2' -H "Authorization: Bearer $KEY"

  ${dim(`${COMMANDS.demo} shows the whole path with webhooks. Ctrl-C stops everything.`)}
`;
}
