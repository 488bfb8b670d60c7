import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyKind } from '../domain/api-keys.js';
import { type Config, readConfig } from '../runtime/config.js';

/** Content of `dev.json`, which `postback start` writes for development tools and removes when it stops. */
export interface DevelopmentFile {
  api_url: string;
  temporal_ui_url: string | null;
  temporal_address: string;
  mongodb_uri: string;
  keys: Record<KeyKind, string>;
}

export function developmentFilePath(dataDir: string): string {
  return join(dataDir, 'dev.json');
}

/** @returns null when no instance was started in this folder */
export function readDevelopmentFile(dataDir: string): DevelopmentFile | null {
  const path = developmentFilePath(dataDir);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as DevelopmentFile) : null;
}

export function writeDevelopmentFile(dataDir: string, content: DevelopmentFile): void {
  // Removed first: the mode applies to new files only.
  removeDevelopmentFile(dataDir);
  writeFileSync(developmentFilePath(dataDir), JSON.stringify(content, null, 2), { mode: 0o600 });
}

export function removeDevelopmentFile(dataDir: string): void {
  rmSync(developmentFilePath(dataDir), { force: true });
}

/** The settings, with the addresses of the instance started in this folder where the environment names none. */
export function runningSettings(env: NodeJS.ProcessEnv): Config {
  const started = readDevelopmentFile(readConfig(env).POSTBACK_DATA_DIR);
  if (!started) return readConfig(env);
  return readConfig({ MONGODB_URI: started.mongodb_uri, TEMPORAL_ADDRESS: started.temporal_address, ...env });
}

/** @returns the key that encrypts secrets at rest, or null when there is none yet */
export function existingSealingKey(config: Config): string | null {
  const path = join(config.POSTBACK_DATA_DIR, 'sealing.key');
  return config.POSTBACK_SEALING_KEY ?? (existsSync(path) ? readFileSync(path, 'utf8') : null);
}

/**
 * The key that encrypts secrets at rest: POSTBACK_SEALING_KEY, else a key generated once in the data folder (mode
 * 0600).
 */
export function sealingKey(config: Config): string {
  if (config.POSTBACK_SEALING_KEY) return config.POSTBACK_SEALING_KEY;
  const path = join(config.POSTBACK_DATA_DIR, 'sealing.key');
  if (!existsSync(path)) {
    mkdirSync(config.POSTBACK_DATA_DIR, { recursive: true });
    writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600, flag: 'wx' });
  }
  return readFileSync(path, 'utf8');
}
