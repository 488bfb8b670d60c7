import { type KeyKind, keyKindOf } from '../../domain/api-keys.js';
import { print, quotedForShell } from './output.js';
import { findServer, type ServerOptions } from './server.js';

/** The variables that the guides use for keys. */
const VARIABLES: Partial<Record<KeyKind, string>> = {
  api: 'POSTBACK_KEY',
  crew_org: 'POSTBACK_CREW_KEY',
  payment_secret: 'POSTBACK_PAYMENT_KEY',
};

/** `postback env`: prints the address of a server and its keys as commands of a shell, for `eval`. */
export function printEnvironment(options: ServerOptions): void {
  const { url, keys } = findServer(options);
  const byVariable = keys.flatMap((key) => {
    const variable = VARIABLES[keyKindOf(key) ?? 'api'];
    return variable === undefined ? [] : [[variable, key]];
  });
  const data: Record<string, string> = {
    POSTBACK_URL: url,
    ...Object.fromEntries(byVariable),
    POSTBACK_API_KEY: keys.join(','),
  };
  print(options, data, () =>
    Object.entries(data)
      .map(([name, value]) => `export ${name}=${quotedForShell(value)}`)
      .join('\n'),
  );
}
