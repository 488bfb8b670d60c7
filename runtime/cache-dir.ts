import { homedir } from 'node:os';
import { join } from 'node:path';

/** Folder of downloaded files, shared by all checkouts of a user: `$XDG_CACHE_HOME/postback`, else `~/.cache/postback`. */
export function defaultCacheDir(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'postback');
}
