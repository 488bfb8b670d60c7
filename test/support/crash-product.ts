import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOpenAiServer } from './openai-server.js';
import { type Product, startProduct } from './product.js';

/** Work that is in progress when the worker is killed. */
export interface InterruptedWork {
  /** Starts the work, and resolves when it is half done; then the worker is killed. */
  begin(): Promise<void>;
  /** Called as soon as the worker is dead. */
  afterKill?(): Promise<void> | void;
  /** Waits for the work to finish, and expects that it continued where it stopped. */
  expectToComplete(): Promise<void>;
}

export type CrashProduct = Awaited<ReturnType<typeof startCrashProduct>>;

/** A product whose processes tests kill and whose crews' files they change, with a model server for its agents. */
export async function startCrashProduct() {
  const folder = mkdtempSync(join(tmpdir(), 'postback-crash-'));
  const openai = await startOpenAiServer();
  const crewsDir = join(folder, 'crews');
  cpSync('test/fixtures/crews', crewsDir, { recursive: true });
  const settings = {
    POSTBACK_CREWS_DIR: crewsDir,
    POSTBACK_OPENAI_URL: openai.baseUrl,
    POSTBACK_OPENAI_CHAT_MODEL: 'small',
    // A page of a site is held back until the worker is killed.
    POSTBACK_CONNECTOR_TIMEOUT_SECONDS: '600',
    POSTBACK_RECONCILE_SECONDS: '5',
  };
  const own = {
    product: await startProduct(settings),
    openai,
    crewsDir,
    /** Stops the servers and the processes, and starts them again with their data. */
    async restart(): Promise<Product> {
      await own.product.stop();
      own.product = await startProduct({ ...settings, POSTBACK_DATA_DIR: own.product.dataDir });
      return own.product;
    },
    async remove(): Promise<void> {
      await own.product.remove();
      await openai.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return own;
}
