import type { Client } from '@temporalio/client';
import type { createClient } from '../client.js';
import type { OpenAiServer } from '../openai-server.js';
import type { ProductAddress } from '../product.js';
import type { startReceiver } from '../receiver.js';

/** What a group of histories is recorded with. Each group makes its own databases, items and jobs. */
export interface Recording {
  /** The organisation, and a client with its key. */
  org: string;
  api: ReturnType<typeof createClient>;
  product: ProductAddress;
  temporal: Client;
  openai: OpenAiServer;
  receiver: Awaited<ReturnType<typeof startReceiver>>;
  /** Records the history of a workflow, which ends first unless `open` is set. */
  record(name: string, workflowId: string, options?: { runId?: string; open?: boolean }): Promise<void>;
  /** @returns the id of the newest workflow that the visibility store finds */
  newest(query: string): Promise<string>;
}

/** @returns a text that no history may contain: replay.test.ts looks for it */
export const noteOf = (id: string): string => `The note ${id}.`;
