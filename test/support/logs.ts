import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.js';

/**
 * Resolves with the log of a process when the log contains the mark: lines are written some time after the event.
 * @param mark text of the last line that is needed: the id of a request or of a delivery
 */
export function logWith(dataDir: string, name: 'api' | 'worker', mark: string): Promise<string> {
  return eventually(`${mark} in ${name}.log`, () => {
    const log = readFileSync(join(dataDir, 'logs', `${name}.log`), 'utf8');
    return log.includes(mark) && log;
  });
}
