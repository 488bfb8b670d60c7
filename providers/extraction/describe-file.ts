import { fileTypeFromBuffer } from 'file-type';
import { ExtractionError, type FileKind } from '../../domain/extraction.js';
import { type DetectOptions, detectFileKind } from './detect-kind.js';

/**
 * What a file is by its content, also where no parser of ours reads it: recordings are `audio`, the rest `unknown`.
 * @param head the first 64 KiB of the file, or all of it when it is shorter
 * @throws ExtractionError E2001 empty, E2002 a password-protected Office document
 */
export async function describeFile(
  head: Buffer,
  options: DetectOptions = {},
): Promise<{ kind: FileKind | 'audio' | 'unknown'; mime_type: string }> {
  try {
    return await detectFileKind(head, options);
  } catch (error) {
    if (!(error instanceof ExtractionError) || error.code !== 'E1002') throw error;
    const mime_type = (await fileTypeFromBuffer(head))?.mime ?? 'application/octet-stream';
    // Recordings often come in the containers of films.
    return { kind: /^(audio|video)\//.test(mime_type) ? 'audio' : 'unknown', mime_type };
  }
}
