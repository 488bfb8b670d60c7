import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyKind } from '../domain/api-keys.js';
import { type Config, readConfig } from '../runtime/config.js';

/** What `postback start` leaves in `.postback/dev.json` for development tools; rewritten at each start. */
export interface DevelopmentFile {
  api_url: string;
  temporal_ui_url: string | null;
  temporal_address: string;
  mongodb_uri: string;
  keys: Record<KeyKind, string>;
}

export function developmentFile(dataDir: string): string {
  return join(dataDir, 'dev.json');
}

/** @returns null when nothing was started in this folder */
export function readDevelopmentFile(dataDir: string): DevelopmentFile | null {
  const path = developmentFile(dataDir);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as DevelopmentFile) : null;
}

/** The environment's settings; addresses that it does not name are those of the instance started in this folder. */
export function runningSettings(env: NodeJS.ProcessEnv): Config {
  const started = readDevelopmentFile(readConfig(env).POSTBACK_DATA_DIR);
  if (!started) return readConfig(env);
  return readConfig({ MONGODB_URI: started.mongodb_uri, TEMPORAL_ADDRESS: started.temporal_address, ...env });
}
