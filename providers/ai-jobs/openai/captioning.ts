import type { InputFile } from '../../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../../domain/errors.js';
import { TaskLimitError, type ThreadPool } from '../../extraction/thread-pool.js';
import { fileFailure } from '../file-failure.js';
import { completeWhole } from './completion.js';
import type { PictureOutcome, PictureTask } from './picture-worker.js';
import type { Ask } from './provider.js';

const names = new Intl.DisplayNames(['en'], { type: 'language' });

/** A sentence or two about a picture. @param pictures makes what every server reads out of any picture */
export function captioning(
  pictures: ThreadPool<PictureTask, PictureOutcome>,
  maxPixels: number,
): Ask<'image/captioning'> {
  return async ({ file, language }, { client, model, signal }) => {
    const url = `data:image/jpeg;base64,${await toJpeg(file, signal)}`;
    const task = `Describe in ${names.of(language)}, in one or two sentences, what this picture shows. Answer with the description alone.`;
    const content = [
      { type: 'text' as const, text: task },
      { type: 'image_url' as const, image_url: { url } },
    ];
    const messages = [{ role: 'user' as const, content }];
    const { text: caption, original } = await completeWhole(client, { model, messages }, signal);
    return { output: { caption }, original };
  };

  async function toJpeg({ path, kind }: InputFile, signal: AbortSignal): Promise<string> {
    if (kind !== 'image')
      throw new ProviderError('The file is not a picture (PNG, JPEG, WebP, TIFF, BMP or GIF).', false);
    const outcome = await pictures.run({ path, maxPixels }, signal).catch((error: unknown) => {
      if (!(error instanceof TaskLimitError)) throw error;
      throw fileFailure('E2003', `Reading it took too much ${error.limit}.`);
    });
    if ('code' in outcome) throw fileFailure(outcome.code, outcome.detail);
    return outcome.jpeg;
  }
}
