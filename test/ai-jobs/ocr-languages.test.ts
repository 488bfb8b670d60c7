import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describeItemError } from '../../activities/content/item-failures.js';
import { asProviderError } from '../../domain/ai-jobs/provider.js';
import { LanguageDataError } from '../../domain/errors.js';
import { OCR_LANGUAGES } from '../../domain/ocr-languages.js';
import { createLanguageData, LANGUAGE_DATA, obtainLanguage } from '../../providers/extraction/ocr/language-data.js';
import { LANGUAGES_DIR } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';

const FILE = 'deu.traineddata.gz';
const MESSAGE =
  'OCR has no data of the language deu on this server, and could not fetch them. Operators: `postback languages fetch deu`.';
/** No folder can be made there. */
const NOWHERE = '/dev/null/languages';

const place = temporaryFolder('ocr-languages');
const newFolder = () => mkdtempSync(join(place, 'folder-'));

/** Runs `postback languages` with an npm that does what a shell script says in the folder of its `--prefix`. */
async function languages(script: string, ...args: string[]) {
  const bin = newFolder();
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\ncd "$3"\n${script}\n`);
  chmodSync(join(bin, 'npm'), 0o755);
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const run = promisify(execFile)(process.execPath, ['dist/cli/main.js', 'languages', ...args], { env });
  return run.then(({ stdout }) => ({ stdout, stderr: '' })).catch(({ stdout, stderr }) => ({ stdout, stderr }));
}

describe('the data of an OCR language', () => {
  test('are pinned for each language but English, which is installed', async () => {
    const pinned = OCR_LANGUAGES.filter((language) => /^[0-9a-f]{64}$/.test(LANGUAGE_DATA[language].sha256 ?? ''));
    expect(pinned).toEqual(OCR_LANGUAGES.filter((language) => language !== 'en'));
    expect(await obtainLanguage('en', NOWHERE)).toContain('node_modules');
  });

  test('are fetched from the registry, and used again without it', async () => {
    const folder = newFolder();
    expect(await createLanguageData(folder).folderOf('de')).toBe(folder);
    expect(readdirSync(folder)).toEqual([FILE]);
    const { stdout } = await languages('exit 1', 'fetch', 'deu', '--to', folder);
    expect(stdout).toBe(`${join(folder, FILE)}\n`);
  });

  test('that the registry does not have as pinned are not used', async () => {
    const folder = newFolder();
    const data = 'node_modules/@tesseract.js-data/deu/4.0.0_best_int';
    const { stderr } = await languages(
      `mkdir -p ${data} && echo replaced > ${data}/${FILE}`,
      'fetch',
      'deu',
      '--to',
      folder,
    );
    expect(stderr).toContain('The data of deu could not be fetched: the registry has a file with another checksum');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('that are damaged in the folder are fetched again', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, FILE), 'damaged');
    await expect(obtainLanguage('de', folder)).resolves.toBe(join(folder, FILE));
    expect(await languages('exit 1', 'fetch', 'deu', '--to', folder)).toMatchObject({ stderr: '' });
  });

  test('that cannot be fetched are an error that says why, and what to do', async () => {
    const folder = newFolder();
    const { stderr } = await languages('echo "npm error code ENOTFOUND" >&2; exit 1', 'fetch', 'deu', '--to', folder);
    expect(stderr).toBe('postback: The data of deu could not be fetched: npm error code ENOTFOUND\n');
    await expect(obtainLanguage('de', NOWHERE)).rejects.toThrow(MESSAGE);
  });

  test('are looked for again after a failure', async () => {
    const parent = newFolder();
    const folder = join(parent, 'languages');
    writeFileSync(folder, 'no folder');
    const data = createLanguageData(join(folder, 'inside'));
    await expect(data.folderOf('de')).rejects.toThrow(LanguageDataError);
    rmSync(folder);
    mkdirSync(join(folder, 'inside'), { recursive: true });
    copyFileSync(await obtainLanguage('de', LANGUAGES_DIR), join(folder, 'inside', FILE));
    expect(await data.folderOf('de')).toBe(join(folder, 'inside'));
  });

  test('have the name that the engine uses', async () => {
    const { stderr } = await languages('exit 1', 'fetch', 'klingon');
    expect(stderr).toMatch(/OCR has no language klingon; it has eng, ara, deu/);
  });
});

describe('work in a language without data', () => {
  const error = new LanguageDataError('deu', 'npm error code ENOTFOUND /a/path');

  test('is retried, and ends after ten attempts with E3001', async () => {
    const describe = (attempt: number) =>
      new MockActivityEnvironment({ attempt }).run(async () => describeItemError(error));
    expect(await describe(1)).toEqual({ code: 'E3001', message: MESSAGE, retryable: true });
    expect(await describe(10)).toEqual({ code: 'E3001', message: MESSAGE, retryable: false });
  });

  test('is retried as a job, and says what operators do', () => {
    expect(asProviderError(error)).toMatchObject({ name: 'ProviderError', message: MESSAGE, retryable: true });
  });
});
