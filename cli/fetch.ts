/** Commands that download what is otherwise fetched at its first use, for images and offline machines. */
import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { defaultCacheDir, obtainEmbeddingModel, obtainRecogniser } from '../dev-stack/index.js';
import type { LanguageDataError } from '../domain/errors.js';
import { OCR_LANGUAGES, type OcrLanguage } from '../domain/ocr-languages.js';
import { MODEL_FILE } from '../providers/embeddings/local-model.js';
import { LANGUAGE_DATA, obtainLanguage } from '../providers/extraction/ocr/language-data.js';
import { MODELS_FOLDER } from '../providers/extraction/ocr/second/models.js';
import { readConfig } from '../runtime/config.js';
import { print } from './remote/output.js';

interface FetchOptions {
  /** The folder for the files. */
  to?: string;
  /** Print JSON. */
  json?: boolean;
}

const printFiles = (files: string[], options: FetchOptions) => print(options, { files }, () => files.join('\n'));

/** `postback model fetch`: downloads the embedding model. With `to`, a folder receives a copy of its files. */
export async function fetchModel(options: FetchOptions, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const model = await obtainEmbeddingModel({ cacheDir: defaultCacheDir(env), env, log: console.error });
  if ('unavailable' in model) throw new Error(model.unavailable);
  const { to: folder } = options;
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  const description = join(dirname(model.modelPath), MODEL_FILE);
  const files: string[] = [];
  for (const path of [model.modelPath, model.tokenizerPath, ...(existsSync(description) ? [description] : [])]) {
    const target = folder === undefined ? path : join(folder, basename(path));
    if (target !== path) await cp(path, target);
    files.push(target);
  }
  printFiles(files, options);
}

/**
 * `postback languages fetch`: downloads the data of OCR languages.
 * @param names the engine's names, such as `deu`; without any, all languages
 */
export async function fetchLanguages(names: readonly string[], options: FetchOptions): Promise<void> {
  const languages = names.length > 0 ? names.map(languageOf) : OCR_LANGUAGES.filter((language) => language !== 'en');
  const folder = resolve(options.to ?? readConfig(process.env).POSTBACK_OCR_LANGUAGES_DIR);
  const files: string[] = [];
  for (const language of languages) {
    const file = obtainLanguage(language, folder).catch(({ reason }: LanguageDataError) => {
      throw new Error(`The data of ${LANGUAGE_DATA[language].name} could not be fetched: ${reason}`);
    });
    files.push(await file);
  }
  printFiles(files, options);
}

function languageOf(name: string): OcrLanguage {
  const language = OCR_LANGUAGES.find((each) => LANGUAGE_DATA[each].name === name);
  if (language) return language;
  const known = OCR_LANGUAGES.map((each) => LANGUAGE_DATA[each].name);
  throw new Error(`OCR has no language ${name}; it has ${known.join(', ')}`);
}

/** `postback recogniser fetch`: downloads the models that read bad scans. Workers use them from the next page on. */
export async function fetchRecogniser(options: FetchOptions): Promise<void> {
  const folder = resolve(options.to ?? readConfig(process.env).POSTBACK_OCR_LANGUAGES_DIR, MODELS_FOLDER);
  printFiles(await obtainRecogniser(folder, { env: process.env, log: console.error }), options);
}
