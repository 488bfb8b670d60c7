import { DEFAULT_LANGUAGE, TEXT_LANGUAGES, type TextLanguage } from '../../../domain/content/languages.js';

/**
 * Name of the column for ranges over a metadata field. It contains the field's name as hex, so that any field name gives a
 * valid and unique column name.
 */
export const rangeColumn = (kind: 'number' | 'text', field: string) => `${kind}_${Buffer.from(field).toString('hex')}`;

/** Names of the columns that show which languages a table has, besides the default. */
export const languageColumn = (language: TextLanguage) => `language_${language}`;

/** @returns the languages of a table's texts, read from its columns, so that a query need not look into the rows */
export function languagesOf(columns: ReadonlySet<string>): TextLanguage[] {
  return TEXT_LANGUAGES.filter((name) => name === DEFAULT_LANGUAGE || columns.has(languageColumn(name)));
}
