import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ProviderError } from '../../../domain/errors.js';
import type { Ask } from './provider.js';

/** What is read of an answer: `verbose_json` has all of it, servers that know only `json` give the text alone. */
const answer = z.object({
  text: z.string(),
  language: z.string().nullish(),
  duration: z.coerce.number().nonnegative().nullish().catch(null),
  segments: z
    .array(z.object({ start: z.number(), end: z.number(), text: z.string() }))
    .nullish()
    .catch(null),
});
const MiB = 1024 * 1024;

/** Uploads a recording and gives the words spoken in it. @param maxBytes of the recording */
export function speechToText(maxBytes: number): Ask<'audio/speech_to_text_async'> {
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
    if (language) form.set('language', language);
    // Servers tell the format by the name.
    form.set('file', new Blob([await readFile(file.path)], { type: file.mime_type }), file.filename);
    const original = await client.post('/audio/transcriptions', form, signal);
    const parsed = answer.safeParse(original);
    if (!parsed.success) throw new ProviderError('The AI server answered no transcript.', true);
    const { text, language: spoken, duration, segments } = parsed.data;
    return {
      output: {
        text: text.trim(),
        language: spoken ?? null,
        duration_seconds: duration ?? null,
        segments: (segments ?? []).map(({ start, end, text }) => ({ start, end, text: text.trim() })),
      },
      original,
    };
  };
}
