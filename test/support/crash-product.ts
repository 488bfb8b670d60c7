import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOpenAiServer } from './openai-server.js';
import { startProcesses } from './product.js';

/** Work that is in progress when the worker is killed. */
export interface InterruptedWork {
  /** Called before any work begins, so that little time passes between the first work and the last. */
  prepare?(): Promise<void>;
  /** Starts the work, and resolves when it is half done; then the worker is killed. */
  begin(): Promise<void>;
  /** Called as soon as the worker is dead. */
  afterKill?(): Promise<void> | void;
  /** Waits for the work to finish, and expects that it continued where it stopped. */
  expectToComplete(): Promise<void>;
}

export type CrashProduct = Awaited<ReturnType<typeof startCrashProduct>>;

/** Processes that tests kill and whose crews' files they change, over the shared servers, with a model server for their agents. */
export async function startCrashProduct() {
  const folder = mkdtempSync(join(tmpdir(), 'postback-crash-'));
  const openai = await startOpenAiServer();
  const crewsDir = join(folder, 'crews');
  cpSync('test/fixtures/crews', crewsDir, { recursive: true });
  const product = await startProcesses('crashes', {
    // An embedding process of its own.
    POSTBACK_EMBEDDER_SOCKET: '',
    POSTBACK_CREWS_DIR: crewsDir,
    POSTBACK_OPENAI_URL: openai.baseUrl,
    POSTBACK_OPENAI_CHAT_MODEL: 'small',
    // A page of a site is held back until the worker is killed.
    POSTBACK_CONNECTOR_TIMEOUT_SECONDS: '600',
    POSTBACK_RECONCILE_SECONDS: '5',
  });
  return {
    product,
    openai,
    crewsDir,
    async remove(): Promise<void> {
      await product.remove();
      await openai.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
