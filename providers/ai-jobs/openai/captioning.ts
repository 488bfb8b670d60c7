import type { InputFile } from '../../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../../domain/errors.js';
import { runOnFile } from '../../extraction/run-on-file.js';
import type { ProcessPool } from '../../isolation/pool.js';
import { completeWhole } from '../../openai/chat-completion.js';
import { asProviderError } from '../file-errors.js';
import type { PictureOutcome, PictureTask } from './picture-worker.js';
import type { RunOnServer } from './provider.js';

const languageNames = new Intl.DisplayNames(['en'], { type: 'language' });

/** Describes a picture in a sentence or two. @param pictures converts pictures to JPEG, which every server reads */
export function captioning(
  pictures: ProcessPool<PictureTask, PictureOutcome>,
  maxPixels: number,
): RunOnServer<'image/captioning'> {
  return async ({ file, language }, { client, model, maxTokens, signal }) => {
    const url = `data:image/jpeg;base64,${await toJpeg(file, signal)}`;
    const task = `Describe in ${languageNames.of(language)}, in one or two sentences, what this picture shows. Answer with the description alone.`;
    const content = [
      { type: 'text', text: task },
      { type: 'image_url', image_url: { url } },
    ];
    const messages = [{ role: 'user', content }];
    const { text: caption, original } = await completeWhole(client, { model, messages, max_tokens: maxTokens }, signal);
    return { output: { caption }, original };
  };

  async function toJpeg({ path, kind }: InputFile, signal: AbortSignal): Promise<string> {
    if (kind !== 'image')
      throw new ProviderError('The file is not a picture (PNG, JPEG, WebP, TIFF, BMP or GIF).', false);
    try {
      return (await runOnFile(pictures, { path, maxPixels }, signal)).jpeg;
    } catch (error) {
      throw asProviderError(error);
    }
  }
}
