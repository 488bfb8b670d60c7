import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.js';

/**
 * The log of a process, once it tells of something: lines come to the file some time after what they tell of.
 * @param mark what stands in the last line that is needed: a request's id, a delivery's
 */
export function logWith(dataDir: string, name: 'api' | 'worker', mark: string): Promise<string> {
  return eventually(`${mark} in ${name}.log`, () => {
    const log = readFileSync(join(dataDir, 'logs', `${name}.log`), 'utf8');
    return log.includes(mark) && log;
  });
}
