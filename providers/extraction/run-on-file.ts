import { ExtractionError, type ExtractionFailure } from '../../domain/extraction.js';
import { TaskLimitError, type ThreadPool } from '../thread-pool.js';

/**
 * Runs a task that reads a file in a thread, and throws the failure that the thread returned.
 * @param subject names the input of the task in the message
 * @throws ExtractionError, E2003 when the task exceeded its time or memory; the signal's reason when it was aborted
 */
export async function runOnFile<Task, Result extends object>(
  pool: ThreadPool<Task, Result | ExtractionFailure>,
  task: Task,
  signal: AbortSignal,
  subject = 'the file',
): Promise<Result> {
  const outcome = await pool.run(task, signal).catch((error: unknown) => {
    if (!(error instanceof TaskLimitError)) throw error;
    throw new ExtractionError('E2003', `Reading ${subject} took too much ${error.limit}.`);
  });
  if ('code' in outcome) throw new ExtractionError(outcome.code, outcome.detail);
  return outcome as Result;
}
