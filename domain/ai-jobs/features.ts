import { z } from 'zod';
import { DEFAULT_OCR_LANGUAGE, ocrLanguageSchema } from '../ocr-languages.js';

/**
 * The features, by `<feature>/<subfeature>`: the schema of a job's `input`, and of the normalised `output`, which is the
 * same for every provider. Validation, types and the OpenAPI document derive from this table.
 */

const file = z
  .string()
  .min(1)
  .max(2_048)
  .meta({
    description: 'A file id from `POST /v3/upload`, or an https URL.',
    anyOf: [{ pattern: '^fil_[A-Za-z0-9_]{1,64}$' }, { format: 'uri', pattern: '^https?://' }],
  });
const text = z.string().regex(/\S/, 'must not be empty').meta({ description: 'The text to process.' });
const language = z
  .string()
  .regex(
    /^[a-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))?$/,
    'must be a language tag such as en or pt-BR',
  )
  .meta({ description: 'Language tag (BCP 47).', examples: ['en', 'pt-BR'] });
const ocrLanguage = ocrLanguageSchema.default(DEFAULT_OCR_LANGUAGE);
const fraction = z.number().min(0).max(1);
const page = z.int().positive().meta({ description: 'Page of a PDF or frame of a TIFF, from 1.' });

/** @param settings fields of the subfeature besides `file` */
const fileInput = <Settings extends z.ZodRawShape>(settings: Settings) => z.strictObject({ file, ...settings });

/** @param settings fields of the subfeature besides exactly one of `text` and `file` */
const textInput = <Settings extends z.ZodRawShape>(settings: Settings) =>
  z
    .strictObject({
      text: text.optional(),
      file: file
        .optional()
        .meta({ description: 'A file whose text is processed: a file id from `POST /v3/upload`, or an https URL.' }),
      ...settings,
    })
    .refine((input: { text?: unknown; file?: unknown }) => (input.text === undefined) !== (input.file === undefined), {
      message: 'must have either text or file',
    })
    .meta({ oneOf: [{ required: ['text'] }, { required: ['file'] }] });

const box = z
  .object({ left: fraction, top: fraction, width: fraction, height: fraction })
  .meta({ description: 'As fractions of the width and height of the upright page, from its upper left corner.' });
const line = z.object({ text: z.string(), confidence: fraction, box });
/** A recognised page, also as a checkpoint. */
export const ocrPage = z.object({
  page,
  text: z.string().meta({ description: 'Empty for a page without text.' }),
  confidence: fraction.meta({ description: '0 for a page without text.' }),
  lines: z.array(line),
});
export type OcrPage = z.output<typeof ocrPage>;

const ocrTable = z.object({
  page,
  box,
  number_of_rows: z.int().positive(),
  number_of_columns: z.int().positive(),
  rows: z.array(
    z.object({
      cells: z
        .array(
          z.object({
            text: z.string().meta({ description: 'Empty for an empty cell.' }),
            confidence: fraction.meta({ description: '0 for an empty cell.' }),
            box: box.nullable().meta({ description: 'The box of the words; null for an empty cell.' }),
          }),
        )
        .meta({ description: 'One for each column.' }),
    }),
  ),
});
export type OcrTable = z.output<typeof ocrTable>;

const sentiment = z.enum(['positive', 'negative', 'neutral']);
const kind = z.enum(['person', 'organization', 'place', 'name', 'date', 'time', 'money', 'percent', 'email', 'url']);
const score = z.number().min(-1).max(1);
const span = z
  .object({ start: z.int().nonnegative(), end: z.int().positive() })
  .meta({ description: 'Offsets in the text, in UTF-16 code units; `end` is exclusive.' });

const message = z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string().min(1) });
const tokens = z.int().nonnegative();

const sentences = z
  .int()
  .min(1)
  .max(50)
  .default(5)
  .meta({ description: 'Maximum number of sentences in the summary.' });

export const AI_FEATURES = {
  'ocr/ocr_async': {
    summary: 'Recognise the text of pictures and PDF pages, including scans',
    takes: 'file',
    input: fileInput({ language: ocrLanguage }),
    output: z.object({ text: z.string(), number_of_pages: z.int().positive(), pages: z.array(ocrPage) }),
  },
  'ocr/ocr_tables_async': {
    summary: 'Find the tables of pictures and PDF pages, including scans, with their rows and columns',
    takes: 'file',
    input: fileInput({ language: ocrLanguage }),
    output: z.object({
      number_of_pages: z.int().positive(),
      tables: z.array(ocrTable).meta({ description: 'Page by page, from top to bottom.' }),
    }),
  },
  'document/text_extraction': {
    summary: 'Extract the text of a document, by sections',
    takes: 'file',
    input: fileInput({ language: ocrLanguage }),
    output: z.object({
      title: z.string().nullable(),
      text: z.string(),
      sections: z.array(
        z.object({
          text: z.string(),
          headings: z.array(z.string()).meta({ description: 'Headings above the text, outermost first.' }),
          page: page
            .nullable()
            .meta({ description: 'Page, slide or frame, from 1; null where the document has none.' }),
          sheet: z.string().nullable().meta({ description: 'Sheet of a workbook.' }),
        }),
      ),
    }),
  },
  'text/language_detection': {
    summary: 'Detect the language of a text',
    takes: 'text',
    input: textInput({}),
    output: z.object({
      language: language.nullable().meta({ description: 'The most likely language; null when none was detected.' }),
      reliable: z.boolean().meta({ description: 'False for texts that are too short or mix languages.' }),
      candidates: z
        .array(
          z.object({ language, display_name: z.string().meta({ description: 'In English.' }), confidence: fraction }),
        )
        .meta({ description: 'Most likely first.' }),
    }),
  },
  'text/sentiment_analysis': {
    summary: 'Rate the sentiment of a text',
    takes: 'text',
    input: textInput({}),
    output: z.object({
      sentiment: z
        .enum([...sentiment.options, 'mixed'])
        .meta({ description: '`mixed`: at least a third of the sentences contradicts the rest.' }),
      score: score.meta({ description: 'From -1 to 1: the mean of the sentences that are not neutral.' }),
      sentences: z.array(z.object({ text: z.string(), sentiment, score })),
    }),
  },
  'text/named_entity_recognition': {
    summary: 'Find people, organisations, places, dates, amounts and addresses in a text',
    takes: 'text',
    input: textInput({}),
    output: z.object({
      entities: z
        .array(z.object({ text: z.string(), type: kind, mentions: z.array(span) }))
        .meta({ description: 'In the order of their first mention. `name` is a proper name of unknown kind.' }),
    }),
  },
  'text/keyword_extraction': {
    summary: 'Extract the keywords of a text',
    takes: 'text',
    input: textInput({ max_keywords: z.int().min(1).max(100).default(20) }),
    output: z.object({
      keywords: z
        .array(z.object({ keyword: z.string(), importance: fraction, count: z.int().positive() }))
        .meta({ description: 'Sorted by importance; the first has importance 1.' }),
    }),
  },
  'text/summarize': {
    summary: 'Summarise a text',
    takes: 'text',
    input: textInput({ sentences }),
    output: z.object({ summary: z.string() }),
  },
  'text/chat': {
    summary: 'Generate the next message of a conversation',
    takes: 'messages',
    input: z.strictObject({
      messages: z.array(message).min(1).max(500),
      temperature: z.number().min(0).max(2).optional(),
      max_tokens: z.int().positive().optional().meta({ description: 'Maximum length of the generated message.' }),
    }),
    output: z.object({
      text: z.string(),
      finish_reason: z.enum(['stop', 'length']).meta({ description: '`length`: the message was cut off at a limit.' }),
      usage: z.object({ input_tokens: tokens, output_tokens: tokens }).nullable(),
    }),
  },
  'translation/automatic_translation': {
    summary: 'Translate a text',
    takes: 'text',
    input: textInput({
      source_language: language.optional().meta({ description: 'Detected from the text if absent.' }),
      target_language: language,
    }),
    output: z.object({ text: z.string(), target_language: language }),
  },
  'image/captioning': {
    summary: 'Describe a picture',
    takes: 'file',
    input: fileInput({ language: language.default('en') }),
    output: z.object({ caption: z.string() }),
  },
  'audio/speech_to_text_async': {
    summary: 'Transcribe a recording',
    takes: 'file',
    input: fileInput({ language: language.optional().meta({ description: 'Detected if absent.' }) }),
    output: z.object({
      text: z.string(),
      language: z.string().nullable().meta({ description: 'In the notation of the provider.' }),
      duration_seconds: z.number().nonnegative().nullable(),
      segments: z
        .array(z.object({ start: z.number(), end: z.number(), text: z.string() }))
        .meta({ description: 'In seconds from the start; empty when the provider returns none.' }),
    }),
  },
} as const satisfies Record<string, AiFeature>;

interface AiFeature {
  summary: string;
  /** `text`: the input has a text or a file, and the provider always receives text. */
  takes: 'file' | 'text' | 'messages';
  input: z.ZodType;
  output: z.ZodType;
}

/** Fields of an input that are not settings. */
const MATERIAL: readonly string[] = ['file', 'text', 'messages'];

/** @returns the names of a subfeature's settings */
export function settingsOf(name: SubfeatureName): string[] {
  return Object.keys(AI_FEATURES[name].input.shape).filter((field) => !MATERIAL.includes(field));
}

/** The first parts of the subfeatures' names, such as `ocr`. */
export const AI_FEATURE_NAMES = [...new Set(Object.keys(AI_FEATURES).map((name) => name.split('/')[0]!))] as [
  string,
  ...string[],
];

export type SubfeatureName = keyof typeof AI_FEATURES;
export type FeatureInput<S extends SubfeatureName> = z.output<(typeof AI_FEATURES)[S]['input']>;
export type FeatureOutput<S extends SubfeatureName> = z.output<(typeof AI_FEATURES)[S]['output']>;
