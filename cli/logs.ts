import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { prettyFactory } from 'pino-pretty';
import { readConfig } from '../runtime/config.js';
import { LOGS } from './log-names.js';
import { isTerminal } from './remote/output.js';

const POLL_MS = 500;
/** How much of the end of a log is read for its last lines. */
const TAIL_BYTES = 256 * 1024;

interface TailOptions {
  /** Lines of each log before the new ones. */
  lines: number;
  /** Print the logs' own JSON. */
  json?: boolean;
  /** False prints what is there, and ends. */
  follow: boolean;
}

/** `postback logs tail`: prints the logs of the instance in this folder, and follows them until Ctrl-C. */
export async function tailLogs(names: readonly string[], { lines, json, follow }: TailOptions): Promise<void> {
  const folder = join(readConfig(process.env).POSTBACK_DATA_DIR, 'logs');
  const pretty = prettyFactory({ colorize: isTerminal(), ignore: 'pid,hostname', translateTime: 'HH:MM:ss' });
  const chosen = names.length > 0 ? names : LOGS;
  const logs = chosen.map((name) => ({ name, read: reader(join(folder, `${name}.log`)) }));
  if (!chosen.some((name) => existsSync(join(folder, `${name}.log`)))) {
    const missing = `There are no such logs in ${folder}: \`npm start\` writes them.`;
    if (!follow) throw new Error(missing);
    console.error(`${missing} Waiting for them; Ctrl-C ends it.`);
  }
  for (let first = true; first || follow; first = false) {
    for (const { name, read } of logs) {
      const added = await read();
      for (const line of first ? added.slice(-lines) : added) {
        const text = !json && line.startsWith('{') ? pretty(line).trimEnd() : line;
        console.log(json ? line : `${name.padEnd(8)} ${text}`);
      }
    }
    if (follow) await wait(POLL_MS);
  }
}

/** @returns a function that returns the complete lines since its last call; none while there is no file */
function reader(path: string): () => Promise<string[]> {
  let position: number | null = null;
  return async () => {
    const file = await open(path).catch(() => null);
    if (file === null) return [];
    try {
      const { size } = await file.stat();
      if (position === null) position = Math.max(0, size - TAIL_BYTES);
      // A log that was replaced starts again.
      if (size < position) position = 0;
      const { bytesRead, buffer } = await file.read(Buffer.alloc(size - position), 0, size - position, position);
      const end = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1;
      position += end;
      return buffer.subarray(0, end).toString().split('\n').slice(0, -1);
    } finally {
      await file.close();
    }
  };
}
