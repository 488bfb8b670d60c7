import { readFile } from 'node:fs/promises';
import { ExtractionError } from '../../domain/extraction.js';

/** The end marker stands in the last bytes of a whole file; some writers add padding behind it. */
const TAIL_BYTES = 4_096;

/**
 * Reads a PDF. PDF libraries repair a file that was cut off by silently dropping its missing pages: half a contract is
 * worse than none.
 * @throws ExtractionError E2001 the end is missing
 */
export async function readWholePdf(path: string): Promise<Buffer> {
  const file = await readFile(path);
  if (!/%%EOF|startxref/.test(file.subarray(-TAIL_BYTES).toString('latin1')))
    throw new ExtractionError('E2001', 'The end of the file is missing.');
  return file;
}
