import { resolve } from 'node:path';
import type { LanguageDataError } from '../domain/errors.js';
import { OCR_LANGUAGES, type OcrLanguage } from '../domain/ocr-languages.js';
import { LANGUAGE_DATA, obtainLanguage } from '../providers/extraction/ocr/language-data.js';
import { readConfig } from '../runtime/config.js';
import { print } from './remote/output.js';

/**
 * `postback languages fetch`: downloads the data of OCR languages before their first use, for images and offline machines,
 * and prints the paths of the files.
 * @param names the engine's names, such as `deu`; without any, all languages
 */
export async function fetchLanguages(
  names: readonly string[],
  { to, json }: { to?: string; json?: boolean },
): Promise<void> {
  const languages = names.length > 0 ? names.map(languageOf) : OCR_LANGUAGES.filter((language) => language !== 'en');
  const folder = resolve(to ?? readConfig(process.env).POSTBACK_OCR_LANGUAGES_DIR);
  const files: string[] = [];
  for (const language of languages) {
    const file = obtainLanguage(language, folder).catch(({ reason }: LanguageDataError) => {
      throw new Error(`The data of ${LANGUAGE_DATA[language].name} could not be fetched: ${reason}`);
    });
    files.push(await file);
  }
  print({ json, data: { files } }, () => files.join('\n'));
}

function languageOf(name: string): OcrLanguage {
  const language = OCR_LANGUAGES.find((each) => LANGUAGE_DATA[each].name === name);
  if (language) return language;
  const known = OCR_LANGUAGES.map((each) => LANGUAGE_DATA[each].name);
  throw new Error(`OCR has no language ${name}; it has ${known.join(', ')}`);
}
