/** Pauses before a write that failed is repeated. With the driver's own wait for a primary they outlive an election. */
const RETRY_PAUSES_MS = [100, 400, 1_000, 2_000];

/**
 * Repeats the write of an outcome that failed: the callback has been sent, and without its outcome it would be sent again.
 * @param write may be repeated, because only the holder of the claim can record an outcome
 * @param onFailure called before each pause
 * @throws the error of the last write
 */
export async function recordWithRetries<T>(write: () => Promise<T>, onFailure: (error: unknown) => void): Promise<T> {
  for (const pause of RETRY_PAUSES_MS) {
    try {
      return await write();
    } catch (error) {
      onFailure(error);
      await new Promise((resume) => setTimeout(resume, pause));
    }
  }
  return write();
}
