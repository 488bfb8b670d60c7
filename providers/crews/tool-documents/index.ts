import { createProcessPool } from '../../isolation/pool.js';
import { ProcessLostError, TaskLimitError } from '../../isolation/protocol.js';
import { type Operation, ToolDocumentError } from './openapi.js';
import type { ToolDocumentOutcome, ToolDocumentTask } from './worker.js';

export { type Operation, type Parameter, ToolDocumentError } from './openapi.js';

export interface ToolDocumentReader {
  /** @throws ToolDocumentError when the document is at fault; the signal's reason when it was aborted */
  readOperation(document: ToolDocumentTask, signal: AbortSignal): Promise<Operation>;
  close(): Promise<void>;
}

const LIMITS = { processes: 1, memoryMb: 128, timeoutMs: 30_000, maxOutputBytes: 1024 * 1024 };

/** Reads the OpenAPI documents of tools in a child process: they may be YAML, whose parser can end its process. */
export function createToolDocumentReader(): ToolDocumentReader {
  const worker = new URL('./worker.js', import.meta.url);
  const pool = createProcessPool<ToolDocumentTask, ToolDocumentOutcome>({ worker, ...LIMITS });
  return {
    async readOperation(document, signal) {
      const outcome = await pool.run(document, signal).catch((error: unknown) => {
        if (error instanceof TaskLimitError)
          throw new ToolDocumentError(`Reading the OpenAPI document of the tool took too much ${error.limit}.`);
        if (error instanceof ProcessLostError)
          throw new ToolDocumentError('The OpenAPI document of the tool cannot be read.');
        throw error;
      });
      if ('failure' in outcome) throw new ToolDocumentError(outcome.failure);
      return outcome.operation;
    },
    close: () => pool.close(),
  };
}
