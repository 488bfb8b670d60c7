import { z } from 'zod';

/**
 * What can be asked for: per `<feature>/<subfeature>` what it takes, the schema of a job's `input`, and that of the
 * normalised `output`, the same for every provider. Validation, types and the OpenAPI document derive from this table.
 */

const file = z.string().min(1).max(2_048).meta({ description: 'A file id of POST /v3/upload, or an https URL.' });
const text = z.string().regex(/\S/, 'It is empty.').meta({ description: 'The text itself.' });
const language = z
  .string()
  .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/)
  .refine(isLanguageTag, 'Use a language tag such as "en" or "pt-BR".')
  .meta({ description: 'Language tag (BCP 47).', examples: ['en', 'pt-BR'] });
const share = z.number().min(0).max(1);
const page = z.int().positive().meta({ description: 'From 1: page of a PDF, frame of a TIFF.' });

/** @param settings of the subfeature, beside the file */
const fileInput = <Settings extends z.ZodRawShape>(settings: Settings) => z.strictObject({ file, ...settings });

/** @param settings of the subfeature, beside exactly one of text and file */
const textInput = <Settings extends z.ZodRawShape>(settings: Settings) =>
  z
    .strictObject({
      text: text.optional(),
      file: file.optional().meta({ description: 'Its text is used: a file id of POST /v3/upload, or an https URL.' }),
      ...settings,
    })
    .refine((input: { text?: unknown; file?: unknown }) => (input.text === undefined) !== (input.file === undefined), {
      message: 'Give either "text" or "file", and only one of them.',
    })
    .meta({ oneOf: [{ required: ['text'] }, { required: ['file'] }] });

const box = z
  .object({ left: share, top: share, width: share, height: share })
  .meta({ description: 'As shares of the width and height of the upright page, from its left upper corner.' });
const line = z.object({ text: z.string(), confidence: share, box });
/** One page as recognised; also what is kept of a finished page when a worker dies. */
export const ocrPage = z.object({
  page,
  text: z.string().meta({ description: 'Empty for a page without words.' }),
  confidence: share.meta({ description: '0 for a page without words.' }),
  lines: z.array(line),
});
export type OcrPage = z.output<typeof ocrPage>;

const sentiment = z.enum(['positive', 'negative', 'neutral']);
const kind = z.enum(['person', 'organization', 'place', 'name', 'date', 'time', 'money', 'percent', 'email', 'url']);
const score = z.number().min(-1).max(1);
const span = z
  .object({ start: z.int().nonnegative(), end: z.int().positive() })
  .meta({ description: 'Offsets in the text, in UTF-16 code units; `end` is exclusive.' });

const message = z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string().min(1) });
const tokens = z.int().nonnegative();

const sentences = z.int().min(1).max(50).default(5).meta({ description: 'Sentences of the summary, at most.' });

export const AI_FEATURES = {
  'ocr/ocr_async': {
    summary: 'The words on pictures and PDF pages, scans included',
    takes: 'file',
    input: fileInput({}),
    output: z.object({ text: z.string(), number_of_pages: z.int().positive(), pages: z.array(ocrPage) }),
  },
  'document/text_extraction': {
    summary: 'The text of a document, by sections',
    takes: 'file',
    input: fileInput({}),
    output: z.object({
      title: z.string().nullable(),
      text: z.string(),
      sections: z.array(
        z.object({
          text: z.string(),
          headings: z.array(z.string()).meta({ description: 'Headings above the text, outermost first.' }),
          page: page.nullable().meta({ description: 'Page, slide or frame, from 1, where there are such.' }),
          sheet: z.string().nullable().meta({ description: 'Sheet of a workbook.' }),
        }),
      ),
    }),
  },
  'text/language_detection': {
    summary: 'The language a text is written in',
    takes: 'text',
    input: textInput({}),
    output: z.object({
      language: language.nullable().meta({ description: 'The most likely one; null when nothing speaks for any.' }),
      reliable: z.boolean().meta({ description: 'False for texts that are too short or between two languages.' }),
      candidates: z
        .array(z.object({ language, display_name: z.string().meta({ description: 'In English.' }), confidence: share }))
        .meta({ description: 'Most likely first.' }),
    }),
  },
  'text/sentiment_analysis': {
    summary: 'Whether a text speaks well or badly',
    takes: 'text',
    input: textInput({}),
    output: z.object({
      sentiment: z
        .enum([...sentiment.options, 'mixed'])
        .meta({ description: 'Mixed: a third or more speaks against the rest.' }),
      score: score.meta({ description: 'From -1 to 1: the mean of the sentences that take a side.' }),
      sentences: z.array(z.object({ text: z.string(), sentiment, score })),
    }),
  },
  'text/named_entity_recognition': {
    summary: 'People, organisations, places, dates, sums and addresses in a text',
    takes: 'text',
    input: textInput({}),
    output: z.object({
      entities: z
        .array(z.object({ text: z.string(), type: kind, mentions: z.array(span) }))
        .meta({ description: 'By first mention. `name` is a proper name whose kind the text does not show.' }),
    }),
  },
  'text/keyword_extraction': {
    summary: 'What a text is about, in its own words',
    takes: 'text',
    input: textInput({ max_keywords: z.int().min(1).max(100).default(20) }),
    output: z.object({
      keywords: z
        .array(z.object({ keyword: z.string(), importance: share, count: z.int().positive() }))
        .meta({ description: 'Most important first; the first has importance 1.' }),
    }),
  },
  'text/summarize': {
    summary: 'A short version of a text',
    takes: 'text',
    input: textInput({ sentences }),
    output: z.object({ summary: z.string() }),
  },
  'text/chat': {
    summary: 'The next answer of a conversation',
    takes: 'messages',
    input: z.strictObject({
      messages: z.array(message).min(1).max(500),
      temperature: z.number().min(0).max(2).optional(),
      max_tokens: z.int().positive().optional().meta({ description: 'Of the answer.' }),
    }),
    output: z.object({
      text: z.string(),
      finish_reason: z.enum(['stop', 'length']).meta({ description: '`length`: the answer was cut off at a limit.' }),
      usage: z.object({ input_tokens: tokens, output_tokens: tokens }).nullable(),
    }),
  },
  'translation/automatic_translation': {
    summary: 'A text in another language',
    takes: 'text',
    input: textInput({
      source_language: language.optional().meta({ description: 'Recognised from the text when left out.' }),
      target_language: language,
    }),
    output: z.object({ text: z.string(), target_language: language }),
  },
  'image/captioning': {
    summary: 'What a picture shows, in words',
    takes: 'file',
    input: fileInput({ language: language.default('en') }),
    output: z.object({ caption: z.string() }),
  },
  'audio/speech_to_text_async': {
    summary: 'The words that are spoken in a recording',
    takes: 'file',
    input: fileInput({ language: language.optional().meta({ description: 'Recognised when left out.' }) }),
    output: z.object({
      text: z.string(),
      language: z.string().nullable().meta({ description: 'As the provider names it.' }),
      duration_seconds: z.number().nonnegative().nullable(),
      segments: z
        .array(z.object({ start: z.number(), end: z.number(), text: z.string() }))
        .meta({ description: 'Seconds from the beginning; empty when the provider gives none.' }),
    }),
  },
} as const satisfies Record<string, AiFeature>;

interface AiFeature {
  summary: string;
  /** `text`: the input names a text or a file, and the provider always gets text. */
  takes: 'file' | 'text' | 'messages';
  input: z.ZodType;
  output: z.ZodType;
}

export type SubfeatureName = keyof typeof AI_FEATURES;
export type FeatureInput<S extends SubfeatureName> = z.output<(typeof AI_FEATURES)[S]['input']>;
export type FeatureOutput<S extends SubfeatureName> = z.output<(typeof AI_FEATURES)[S]['output']>;

function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
