import { createProcessPool } from '../../isolation/pool.js';
import { ProcessLostError, TaskLimitError } from '../../isolation/protocol.js';
import { type Operation, type ToolDocument, ToolDocumentError } from './openapi.js';

export { isObject, type Operation, type Parameter, ToolDocumentError } from './openapi.js';

const LIMITS = { processes: 1, memoryMb: 128, timeoutMs: 30_000, maxOutputBytes: 1024 * 1024 };

export type ToolDocumentReader = ReturnType<typeof createToolDocumentReader>;

/** Reads the OpenAPI documents of tools in a child process: they may be YAML, whose parser can end its process. */
export function createToolDocumentReader() {
  const worker = new URL('./openapi.js', import.meta.url);
  const pool = createProcessPool<ToolDocument, Operation>({ worker, ...LIMITS });
  return {
    /** @throws ToolDocumentError when the document is at fault; the signal's reason when it was aborted */
    readOperation: (document: ToolDocument, signal: AbortSignal): Promise<Operation> =>
      pool.run(document, signal).catch((error: Error) => {
        if (error instanceof TaskLimitError)
          throw new ToolDocumentError(`Reading the OpenAPI document of the tool took too much ${error.limit}.`);
        if (error instanceof ProcessLostError)
          throw new ToolDocumentError('The OpenAPI document of the tool cannot be read.');
        // The process sends the name and message of an error.
        throw error.name === 'ToolDocumentError' ? new ToolDocumentError(error.message) : error;
      }),
    close: () => pool.close(),
  };
}
