import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { identifySelf, isAlive } from '../runtime/process-identity.js';
import { createScratch } from '../storage/scratch.js';

describe('temporary folders', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'postback-scratch-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const scratch = () => createScratch({ dir, self: identifySelf(), isAlive });
  const moduleUrl = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

  /** Starts a process that is working on a file. */
  async function startWorking() {
    const code = `
      const { identifySelf, isAlive } = await import(${moduleUrl('../runtime/process-identity.js')});
      const { createScratch } = await import(${moduleUrl('../storage/scratch.js')});
      const { writeFileSync } = await import('node:fs');
      setInterval(() => undefined, 1_000);
      await createScratch({ dir: ${JSON.stringify(dir)}, self: identifySelf(), isAlive }).use((folder) => {
        writeFileSync(folder + '/page', 'half of it');
        console.log(folder);
        return new Promise(() => undefined);
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(child.stdout!, 'data');
    return { child, folder: String(line).trim() };
  }

  test('are separate for each piece of work and removed when it ends or fails', async () => {
    const seen = await Promise.all(
      [1, 2].map((n) =>
        scratch().use(async (folder) => {
          writeFileSync(join(folder, 'page'), String(n));
          return folder;
        }),
      ),
    );
    expect(new Set(seen).size).toBe(2);
    const failing = scratch().use(() => Promise.reject(new Error('unreadable')));
    await expect(failing).rejects.toThrow('unreadable');
    expect(readdirSync(dir)).toEqual([]);
  });

  test('of a killed process are removed by the next process; folders of running processes and of other programs remain', async () => {
    const [killed, alive] = await Promise.all([startWorking(), startWorking()]);
    try {
      killed.child.kill('SIGKILL');
      await once(killed.child, 'exit');
      const fields = killed.folder.slice(dir.length + 1).split('.');
      const foreign = [
        ['postback', Buffer.from('another-host').toString('base64url'), ...fields.slice(2)].join('.'),
        'postback-other',
        'postback.notes.txt',
        `systemd.${fields.slice(1).join('.')}`,
      ];
      for (const name of foreign) mkdirSync(join(dir, name));
      // The folder of a process whose pid now belongs to another process.
      mkdirSync(join(dir, [...fields.slice(0, 2), process.pid, fields[3], 'reused'].join('.')));
      expect(await scratch().use(() => scratch().removeAbandoned())).toBe(2);
      expect(existsSync(join(alive.folder, 'page'))).toBe(true);
      expect(readdirSync(dir).sort()).toEqual([alive.folder.slice(dir.length + 1), ...foreign].sort());
    } finally {
      alive.child.kill('SIGKILL');
      await once(alive.child, 'exit');
    }
  });
});
