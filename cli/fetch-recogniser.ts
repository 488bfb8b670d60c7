import { resolve } from 'node:path';
import { obtainRecogniser } from '../dev-stack/index.js';
import { MODELS_FOLDER } from '../providers/extraction/ocr/second/models.js';
import { readConfig } from '../runtime/config.js';
import { print } from './remote/output.js';

/**
 * `postback recogniser fetch`: downloads the models by which OCR reads bad scans, and prints the paths of their files. Workers
 * use them from the next page on.
 */
export async function fetchRecogniser(
  { to, json }: { to?: string; json?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const folder = resolve(to ?? readConfig(env).POSTBACK_OCR_LANGUAGES_DIR, MODELS_FOLDER);
  const files = await obtainRecogniser(folder, { env, log: console.error });
  print({ json, data: { files } }, () => files.join('\n'));
}
