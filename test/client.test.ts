import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { bodyOf, createPostback, type Schemas } from '../client/index.js';
import { makeKey, sharedProduct } from './support/product.js';

describe('the TypeScript client', () => {
  const { apiUrl, mongodbUri } = sharedProduct();

  test('has the types of the API document; otherwise run `npm run client`', async () => {
    const { hashOfTypes } = (await import(pathToFileURL('bin/client.mjs').href)) as {
      hashOfTypes(document: unknown): string;
    };
    // biome-ignore lint/suspicious/noExplicitAny: changed at several depths
    const document: any = await (await fetch(`${apiUrl}/openapi.json`)).json();
    const [firstLine] = readFileSync('client/schema.d.ts', 'utf8').split('\n', 1);
    expect(firstLine).toBe(`// types ${hashOfTypes(document)}`);

    // Words do not change types; fields do, whatever their names.
    const { description } = document.info;
    document.info.description = `${description} More words.`;
    expect(firstLine).toBe(`// types ${hashOfTypes(document)}`);
    document.components.schemas.Hit.properties.description = { type: 'string' };
    expect(firstLine).not.toBe(`// types ${hashOfTypes(document)}`);
  });

  test('ingests a file and queries it in its example', async () => {
    const { key } = await makeKey(mongodbUri, 'typescript-client');
    const example = fileURLToPath(new URL('../client/examples/ask-a-file.js', import.meta.url));
    const env = { ...process.env, POSTBACK_URL: apiUrl, POSTBACK_API_KEY: key };
    const { stdout } = await promisify(execFile)(process.execPath, [example], { env });
    expect(stdout).toMatch(/^\d\.\d\d A night at the north quay costs forty crowns\.\n/);
    expect(stdout).toContain('afterwards: 404 DATABASE_NOT_FOUND');
  });

  test('throws the code, message and request id of an error, also for payments', async () => {
    const postback = createPostback({ url: apiUrl, key: 'wrong' });
    const query: Schemas['QueryDatabaseRequest'] = { database: 'none', query: 'none' };
    const unauthorized = {
      name: 'PostbackError',
      status: 401,
      code: expect.any(String),
      message: expect.stringMatching(/\w/),
      requestId: expect.stringMatching(/\w/),
    };
    await expect(bodyOf(postback.POST('/query', { body: query }))).rejects.toMatchObject(unauthorized);
    await expect(bodyOf(postback.GET('/authentication'))).rejects.toMatchObject({
      ...unauthorized,
      message: expect.stringContaining('api-key'),
    });
  });
});
