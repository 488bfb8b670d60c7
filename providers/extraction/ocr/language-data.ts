import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LanguageDataError } from '../../../domain/errors.js';
import type { OcrLanguage } from '../../../domain/ocr-languages.js';

/** The engine's names of languages, with the SHA-256 of their data. English is among the installed packages. */
export const LANGUAGE_DATA: Record<OcrLanguage, { name: string; sha256?: string }> = {
  en: { name: 'eng' },
  ar: { name: 'ara', sha256: 'f4746c44b02342dd5b3d4f0198000f47d7c49f1a229e63e0f436c0592dcd9639' },
  de: { name: 'deu', sha256: '306c4280d0cbed46fbff727486bd43b92730181bae80f56941a091f363bdf28b' },
  es: { name: 'spa', sha256: '40be52f97b5d4eb7460073dc1f94cd546b27150333c0bf854ed7e7132db6bceb' },
  fr: { name: 'fra', sha256: 'd611139672b3752c7097e671e4a1d9209dfd37f2aeb081ef6487fba3351e9255' },
  hi: { name: 'hin', sha256: 'f3b6a0d320df38d886178cdd727b90dbf9df3db053adb32bd9cf73f0463cda07' },
  it: { name: 'ita', sha256: 'f702fcfad297ce028ede3626d1467b67939f23ff23595f9badd54681cf25a4d3' },
  ja: { name: 'jpn', sha256: '2b63ebfbf1484de4a08ce53b29ef98a1c17658a93cbd38acb665d7d316d0be88' },
  nl: { name: 'nld', sha256: 'a2d904b6ddc4feb0d31ecfcd7361a554102e7aa2e278c54f4fc029e0d0815571' },
  pl: { name: 'pol', sha256: 'a20fdec4ff99d8f8e84c708da3e42a4e935c26863055a0ed88aef5c66a59b91b' },
  pt: { name: 'por', sha256: 'dacebc1386ddaaf8389f81094236cca0d690897cde693d48cbdaa881c86e2b4c' },
  tr: { name: 'tur', sha256: '384ba0dc28040451b7818d7d60e0a88df0d3003fa5a01d713a468779bc3d8c04' },
  uk: { name: 'ukr', sha256: 'ea2789a0ad99ff84bfd252a7410a1e8661a7bc5acaa41573d23b54b71446aa4c' },
  zh: { name: 'chi_sim', sha256: 'b8a23f10c7de500891eb458a8adc9cc58ab7f242f08b7d149f5e9aea4ad5db7c' },
};

const VERSION = '1.0.0';
/** The packages also have the data of an older engine, and larger data. */
const IN_PACKAGE = '4.0.0_best_int';
const FETCH_TIMEOUT_MS = 120_000;

const dataFile = (name: string) => `${name}.traineddata.gz`;

/** @param folder holds the data of all languages but English */
export function createLanguageData(folder: string) {
  const ready = new Map<OcrLanguage, Promise<string>>();
  return {
    /**
     * Returns the folder that has a language's data. What is missing is fetched; what is there is checked once.
     * @throws LanguageDataError when it is missing and cannot be fetched
     */
    folderOf(language: OcrLanguage): Promise<string> {
      const found = ready.get(language) ?? obtainLanguage(language, folder).then(dirname);
      ready.set(language, found);
      // The next attempt looks again: the network is back, or somebody has put the file there.
      found.catch(() => ready.delete(language));
      return found;
    },
  };
}

/**
 * Returns the path of a language's data: from the installed package, from the folder, or fetched into the folder.
 * @throws LanguageDataError
 */
export async function obtainLanguage(language: OcrLanguage, folder: string): Promise<string> {
  const { name, sha256 } = LANGUAGE_DATA[language];
  if (sha256 === undefined) {
    return join(dirname(createRequire(import.meta.url).resolve(packageOf(name))), IN_PACKAGE, dataFile(name));
  }
  const path = join(folder, dataFile(name));
  try {
    if ((await sha256Of(path)) !== sha256) await fetchData(name, sha256, path);
    return path;
  } catch (error) {
    throw new LanguageDataError(name, (error as Error).message);
  }
}

const packageOf = (name: string) => `@tesseract.js-data/${name}`;

/** Fetches a package with npm, which knows the registry and the proxy of this machine, and keeps one of its files. */
async function fetchData(name: string, sha256: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const folder = await mkdtemp(join(dirname(path), 'fetch-'));
  try {
    const options = [
      '--ignore-scripts',
      '--no-save',
      '--no-fund',
      '--no-audit',
      '--loglevel=error',
      '--fetch-retries=0',
    ];
    const args = ['install', '--prefix', folder, ...options, `${packageOf(name)}@${VERSION}`];
    await promisify(execFile)('npm', args, { cwd: folder, timeout: FETCH_TIMEOUT_MS }).catch(({ stderr, message }) => {
      throw new Error(stderr ? String(stderr).trim().split('\n').slice(0, 2).join(', ') : message);
    });
    const fetched = join(folder, 'node_modules', packageOf(name), IN_PACKAGE, dataFile(name));
    if ((await sha256Of(fetched)) !== sha256) throw new Error('the registry has a file with another checksum');
    // Renamed into place, so that no process reads half a file.
    await rename(fetched, path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns undefined when there is no such file */
async function sha256Of(path: string): Promise<string | undefined> {
  try {
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}
