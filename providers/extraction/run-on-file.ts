import { ExtractionError, type ExtractionFailure } from '../../domain/extraction.js';
import type { ProcessPool } from '../isolation/pool.js';
import { StuckTaskError, TaskLimitError } from '../isolation/protocol.js';

/**
 * Runs a task that reads a file in a child process, and throws the failure that the task returned.
 * @param subject names the input of the task in the message
 * @param onPart takes the parts of the output
 * @param owner whose file it is
 * @throws ExtractionError, E2003 when the task exceeded its time, memory or output, E2001 when it is stuck; ProcessLostError; the signal's reason
 * when it was aborted
 */
export async function runOnFile<Task, Result extends object, Part = never>(
  pool: ProcessPool<Task, Result | ExtractionFailure, Part>,
  task: Task,
  signal: AbortSignal,
  {
    subject = 'the file',
    onPart,
    owner,
  }: { subject?: string; onPart?: (part: Part) => Promise<void>; owner?: string | undefined } = {},
): Promise<Result> {
  const outcome = await pool.run(task, signal, onPart, owner).catch((error: unknown) => {
    if (error instanceof StuckTaskError) throw new ExtractionError('E2001');
    if (!(error instanceof TaskLimitError)) throw error;
    throw new ExtractionError('E2003', `Reading ${subject} took too much ${error.limit}.`);
  });
  if ('code' in outcome) throw new ExtractionError(outcome.code, outcome.detail);
  return outcome as Result;
}
