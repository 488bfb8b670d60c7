import { type ResourceErrorCode, SourceError } from '../../../domain/connectors/connectors.js';
import { createProcessPool } from '../../isolation/pool.js';
import { ProcessLostError, StuckTaskError, TaskLimitError } from '../../isolation/protocol.js';
import type { ParseInput, ParseKind, ParseResult, ParseTask } from './worker.js';

export type ForeignParser = ReturnType<typeof createForeignParser>;

const LIMITS = { processes: 2, memoryMb: 256, timeoutMs: 30_000, maxOutputBytes: 32 * 1024 * 1024 };

/** Parses listings, pages and robots.txt of foreign servers in child processes. */
export function createForeignParser(limits: Partial<typeof LIMITS> & { idleMs?: number } = {}) {
  const worker = new URL('./worker.js', import.meta.url);
  const pool = createProcessPool<ParseTask, never>({ worker, ...LIMITS, ...limits });
  return {
    /** @throws SourceError when the input is at fault; the signal's reason when it was aborted */
    async parse<Kind extends ParseKind>(
      kind: Kind,
      input: ParseInput<Kind>,
      signal: AbortSignal,
    ): Promise<ParseResult<Kind>> {
      const task = { kind, ...input } as ParseTask;
      return (
        pool
          .run(task, signal)
          // The kill may have had its cause elsewhere.
          .catch((error: unknown) =>
            error instanceof ProcessLostError ? pool.run(task, signal) : Promise.reject(error),
          )
          .catch((error: unknown) => {
            if (error instanceof StuckTaskError) throw new SourceError('INVALID_LISTING', 'It is damaged.');
            if (error instanceof TaskLimitError)
              throw new SourceError('TOO_LARGE', `Reading it took too much ${error.limit}.`);
            if (error instanceof ProcessLostError)
              throw new SourceError('INVALID_LISTING', 'It cannot be read: it ends the process that reads it.');
            // The process sends the name, code and message of an error.
            const { name, code, message } = error as Error & { code: ResourceErrorCode };
            throw name === 'SourceError' ? new SourceError(code, message) : error;
          })
      );
    },
    close: () => pool.close(),
  };
}
