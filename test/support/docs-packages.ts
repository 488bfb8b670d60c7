import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** Puts the typed client, with its types, into the packages of a folder. */
export function withPackages(folder: string): void {
  const client = join(folder, 'node_modules', 'postback-client');
  if (existsSync(client)) return;
  mkdirSync(join(client, 'dist'), { recursive: true });
  cpSync('client/index.ts', join(client, 'dist', 'index.ts'));
  cpSync('client/schema.d.ts', join(client, 'dist', 'schema.d.ts'));
  cpSync('dist/client/index.js', join(client, 'dist', 'index.js'));
  const exported = { '.': { types: './dist/index.ts', default: './dist/index.js' } };
  writeFileSync(
    join(client, 'package.json'),
    JSON.stringify({ name: 'postback-client', type: 'module', exports: exported }),
  );
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types/node', 'undici-types']) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    if (existsSync(join('node_modules', name)))
      symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
}

/**
 * Compiles files of a folder as strictly as the project is.
 * @throws Error with what the compiler printed
 */
export async function compileTypescript(folder: string, files: readonly string[]): Promise<void> {
  const options = ['--module', 'nodenext', '--target', 'es2023', '--strict', '--skipLibCheck', '--types', 'node'];
  const compiler = resolve('node_modules', 'typescript', 'bin', 'tsc');
  await promisify(execFile)(process.execPath, [compiler, ...options, ...files], { cwd: folder }).catch((error) => {
    throw new Error(`${error.stdout}${error.stderr}`);
  });
}
