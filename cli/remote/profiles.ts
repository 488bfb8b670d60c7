import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { keyKindOf } from '../../domain/api-keys.js';
import { print, table } from './output.js';

/** A server and the keys for it, under a name. */
export interface Profile {
  url: string;
  keys: string[];
}

type Profiles = Record<string, Profile>;

/** `postback profiles add`: stores a profile, or replaces it. */
export function addProfile(name: string, { url, key, json }: { url: string; key: string[]; json?: boolean }): void {
  if (!URL.canParse(url)) throw new Error(`"${url}" is not a URL such as https://postback.example.com`);
  writeProfiles({ ...readProfiles(process.env), [name]: { url, keys: key } });
  print({ json, profile: name, next: ['databases', 'list'] }, { name, url }, () => {
    return `Saved. Use it with --profile ${name}, or POSTBACK_PROFILE=${name}.`;
  });
}

/** `postback profiles list`: prints the profiles without their keys. */
export function listProfiles(options: { json?: boolean }): void {
  const profiles = Object.entries(readProfiles(process.env)).map(([name, { url, keys }]) => {
    return { name, url, kinds: keys.map((key) => keyKindOf(key) ?? 'unknown') };
  });
  const rows = profiles.map(({ name, url, kinds }) => ({ name, url, keys: kinds.join(', ') }));
  print(options, { profiles }, () => table(rows));
}

/** `postback profiles remove` */
export function removeProfile(name: string, options: { json?: boolean }): void {
  const { [name]: removed, ...others } = readProfiles(process.env);
  if (!removed) throw new Error(`There is no profile "${name}".`);
  writeProfiles(others);
  print(options, { removed: name }, () => `Removed ${name}.`);
}

/** @throws Error that lists the profiles when there is none of this name */
export function readProfile(name: string, env: NodeJS.ProcessEnv): Profile {
  const profiles = readProfiles(env);
  const profile = profiles[name];
  if (profile) return profile;
  throw new Error(`There is no profile "${name}". Known: ${Object.keys(profiles).join(', ') || 'none'}.`);
}

function readProfiles(env: NodeJS.ProcessEnv): Profiles {
  const path = profilesPath(env);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Profiles) : {};
}

function writeProfiles(profiles: Profiles): void {
  const path = profilesPath(process.env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Removed first: the mode applies to new files only.
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
}

function profilesPath(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'postback', 'profiles.json');
}
