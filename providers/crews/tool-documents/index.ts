import { createProcessPool, type RunKind } from '../../isolation/pool.js';
import { ProcessLostError, TaskLimitError } from '../../isolation/protocol.js';
import { ToolDocumentError } from './openapi.js';
import { readToolDocument, type ToolDocumentOutcome, type ToolDocuments, type ToolDocumentTask } from './worker.js';

export { type Operation, type Parameter, ToolDocumentError } from './openapi.js';
export type { ToolDocuments } from './worker.js';

export interface ToolDocumentReader {
  /** @throws ToolDocumentError when the document is at fault; the signal's reason when it was aborted */
  read: RunKind<ToolDocuments>;
  close(): Promise<void>;
}

/**
 * Characters of an MCP response that is read in this process: it is JSON, its cost is bounded, and most are shorter. An OpenAPI
 * document may be YAML, whose parser can end its process.
 */
const SMALL = 16 * 1024;
const LIMITS = { processes: 1, memoryMb: 128, timeoutMs: 30_000, maxOutputBytes: 1024 * 1024 };

/** Reads what the servers of tools send: OpenAPI documents, and responses of MCP servers. Long ones in a child process. */
export function createToolDocumentReader(): ToolDocumentReader {
  const worker = new URL('./worker.js', import.meta.url);
  const pool = createProcessPool<ToolDocumentTask, ToolDocumentOutcome>({ worker, ...LIMITS });
  return {
    async read(kind, input, signal) {
      const task = { kind, ...input } as ToolDocumentTask;
      if (task.kind !== 'openapi' && task.text.length <= SMALL) return readToolDocument(task) as never;
      const outcome = await pool.run(task, signal).catch((error: unknown) => {
        if (error instanceof TaskLimitError)
          throw new ToolDocumentError(`Reading the response of the tool's server took too much ${error.limit}.`);
        if (error instanceof ProcessLostError)
          throw new ToolDocumentError("The response of the tool's server cannot be read.");
        throw error;
      });
      if ('failure' in outcome) throw new ToolDocumentError(outcome.failure);
      return outcome.result as never;
    },
    close: () => pool.close(),
  };
}
