import { ExtractionError } from '../../domain/extraction.js';
import type { ProcessPool } from '../isolation/pool.js';
import { StuckTaskError, TaskLimitError } from '../isolation/protocol.js';

/**
 * Runs a task that reads a file in a child process.
 * @param subject names the input of the task in the message
 * @param onPart takes the parts of the output
 * @param owner whose file it is
 * @throws ExtractionError, E2003 when the task exceeded its time, memory or output, E2001 when it is stuck; ProcessLostError; the signal's reason
 * when it was aborted
 */
export async function runOnFile<Task, Result, Part = never>(
  pool: ProcessPool<Task, Result, Part>,
  task: Task,
  signal: AbortSignal,
  {
    subject = 'the file',
    onPart,
    owner,
  }: { subject?: string; onPart?: (part: Part) => Promise<void>; owner?: string | undefined } = {},
): Promise<Result> {
  return pool.run(task, signal, onPart, owner).catch((error: unknown) => {
    if (error instanceof StuckTaskError) throw new ExtractionError('E2001');
    if (error instanceof TaskLimitError)
      throw new ExtractionError('E2003', `Reading ${subject} took too much ${error.limit}.`);
    // The process sends the fields of an error.
    const { name, code, detail } = error as ExtractionError;
    throw name === 'ExtractionError' ? new ExtractionError(code, detail) : error;
  });
}
