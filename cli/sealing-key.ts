import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../runtime/config.js';

/** The key that seals secrets: from the environment, else one generated once under the data folder, mode 0600. */
export function sealingKey(config: Config): string {
  if (config.POSTBACK_SEALING_KEY) return config.POSTBACK_SEALING_KEY;
  const path = join(config.POSTBACK_DATA_DIR, 'sealing.key');
  if (!existsSync(path)) {
    mkdirSync(config.POSTBACK_DATA_DIR, { recursive: true });
    writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600, flag: 'wx' });
  }
  return readFileSync(path, 'utf8');
}
