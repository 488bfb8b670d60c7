import { readFileSync } from 'node:fs';

/** @returns what a JSON file holds; undefined when it is missing or damaged */
export function readJsonFile<Content>(path: string): Content | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Content;
  } catch {
    return undefined;
  }
}
