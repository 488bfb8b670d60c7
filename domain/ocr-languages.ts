import { z } from 'zod';

/** Languages that OCR reads, as language tags (ISO 639-1). */
export const OCR_LANGUAGES = [
  'en',
  'ar',
  'de',
  'es',
  'fr',
  'hi',
  'it',
  'ja',
  'nl',
  'pl',
  'pt',
  'tr',
  'uk',
  'zh',
] as const;
export type OcrLanguage = (typeof OCR_LANGUAGES)[number];

export const DEFAULT_OCR_LANGUAGE: OcrLanguage = 'en';

export const ocrLanguageSchema = z
  .enum(OCR_LANGUAGES)
  .meta({ description: 'Language of scanned pages and pictures, which are read by OCR. Other text needs none.' });
