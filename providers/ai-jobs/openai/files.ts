/** Subfeatures that send a file to the server: a picture or a recording. */
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { FormData } from 'undici';
import { z } from 'zod';
import type { InputFile } from '../../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../../domain/errors.js';
import { runOnFile } from '../../extraction/run-on-file.js';
import type { ProcessPool } from '../../isolation/pool.js';
import { completeWhole } from '../../openai/chat-completion.js';
import { RejectedFieldError } from '../../openai/client.js';
import type { PictureOutcome, PictureTask } from './picture-worker.js';
import type { RunOnServer } from './provider.js';

const languageNames = new Intl.DisplayNames(['en'], { type: 'language' });

/** Describes a picture in a sentence or two. @param pictures converts pictures to JPEG, which every server reads */
export function captioning(
  pictures: ProcessPool<PictureTask, PictureOutcome>,
  maxPixels: number,
): RunOnServer<'image/captioning'> {
  return async ({ file, language }, { client, model, maxTokens, org, signal }) => {
    const url = `data:image/jpeg;base64,${await toJpeg(file, signal, org)}`;
    const task = `Describe in ${languageNames.of(language)}, in one or two sentences, what this picture shows. Answer with the description alone.`;
    const content = [
      { type: 'text', text: task },
      { type: 'image_url', image_url: { url } },
    ];
    const messages = [{ role: 'user', content }];
    const { text: caption, original } = await completeWhole(client, { model, messages, max_tokens: maxTokens }, signal);
    return { output: { caption }, original };
  };

  async function toJpeg({ path, kind }: InputFile, signal: AbortSignal, owner?: string): Promise<string> {
    if (kind !== 'image')
      throw new ProviderError('The file is not a picture (PNG, JPEG, WebP, TIFF, BMP or GIF).', false);
    return (await runOnFile(pictures, { path, maxPixels }, signal, { owner })).jpeg;
  }
}

/** The fields that are read. `verbose_json` has all of them; models that support only `json` return the text alone. */
const response = z.object({
  text: z.string(),
  language: z.string().nullish(),
  duration: z.coerce.number().nonnegative().nullish().catch(null),
  segments: z
    .array(z.object({ start: z.number(), end: z.number(), text: z.string() }))
    .nullish()
    .catch(null),
});
const MiB = 1024 * 1024;

/** Endings of the names of recordings, by their media types. */
const ENDINGS: Readonly<Record<string, string>> = {
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/x-m4a': 'm4a',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
};

/** Servers detect the format by the ending, which recordings of browsers (`blob`) and many URLs do not have. */
function nameOf({ filename, mime_type }: InputFile): string {
  const ending = ENDINGS[mime_type.split(';')[0]!];
  return ending === undefined || extname(filename) !== '' ? filename : `${filename}.${ending}`;
}

/** Transcribes a recording. @param maxBytes of the recording */
export function speechToText(maxBytes: number): RunOnServer<'audio/speech_to_text_async'> {
  return async ({ file, language }, { client, model, signal }) => {
    if (file.kind !== 'audio') throw new ProviderError('The file is not a recording.', false);
    if (file.size > maxBytes)
      throw new ProviderError(
        `The recording is over ${Math.floor(maxBytes / MiB)} MiB. Send it compressed, or in parts.`,
        false,
      );
    const form = new FormData();
    form.set('model', model);
    form.set('response_format', 'verbose_json');
    // ISO 639: servers reject a tag with a region.
    if (language) form.set('language', language.split('-')[0]!);
    form.set('file', new Blob([await readFile(file.path)], { type: file.mime_type }), nameOf(file));
    const send = () => client.post('/audio/transcriptions', form, signal);
    const original = await send().catch((error: unknown) => {
      if (!(error instanceof RejectedFieldError) || error.field !== 'response_format') throw error;
      form.set('response_format', 'json');
      return send();
    });
    const parsed = response.safeParse(original);
    if (!parsed.success) throw new ProviderError('The response of the AI server holds no transcript.', true);
    const { text, language: detected, duration, segments } = parsed.data;
    return {
      output: {
        text: text.trim(),
        language: detected ?? null,
        duration_seconds: duration ?? null,
        segments: (segments ?? []).map(({ start, end, text }) => ({ start, end, text: text.trim() })),
      },
      original,
    };
  };
}
