import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createWorker, OEM } from 'tesseract.js';
import { cleanText } from './text-encoding.js';

/** Trained data that come with the package; nothing is fetched and no cache is written. */
const LANGUAGE_DATA = join(dirname(createRequire(import.meta.url).resolve('@tesseract.js-data/eng')), '4.0.0_best_int');

/**
 * Reads the words of one picture.
 * The engine lives for one picture: it starts in 0.3 s, reads a page in 5, and never gives memory back but by ending.
 * @param image in a format that needs no further decoding (PNG)
 */
export async function recognize(image: Buffer): Promise<string> {
  const engine = await createWorker('eng', OEM.LSTM_ONLY, {
    langPath: LANGUAGE_DATA,
    cacheMethod: 'none',
    gzip: true,
    // Without a handler the library throws from a message event, which would end the thread.
    errorHandler: () => undefined,
  });
  try {
    const { data } = await engine.recognize(image);
    return cleanText(data.text).trim();
  } finally {
    await engine.terminate();
  }
}
