import { statSync } from 'node:fs';
import { join } from 'node:path';
import { globSync } from 'tinyglobby';
import type { DeployedCrew, InvalidCrew } from '../../domain/crews/crews.js';
import { type LoadedCrews, loadCrews } from './load-crews.js';

export type CrewCatalogue = ReturnType<typeof createCrewCatalogue>;

interface CatalogueOptions {
  /** Receives the mistakes of a crew, each time they change. */
  onMistakes(name: string, problems: readonly string[]): void;
  /** The files are checked again after this time. */
  checkEveryMs?: number;
}

/** No project is deeper: `<crew>/src/<package>/config/agents.yaml`. */
const MAX_DEPTH = 5;

/**
 * The crews of a folder as their files are now: loads them, and again when a file has changed. A read of the crews checks the files, at most twice a second.
 * Polling, because changes of mounted folders are not reported everywhere.
 * @throws Error when the folder cannot be read
 */
export function createCrewCatalogue(folder: string, { onMistakes, checkEveryMs = 500 }: CatalogueOptions) {
  let seen = stateOf(folder);
  let loaded = loadCrews(folder);
  report(new Map(), loaded.invalid);
  let checkedAt = performance.now();

  function current(): LoadedCrews {
    const now = performance.now();
    if (now - checkedAt < checkEveryMs) return loaded;
    checkedAt = now;
    const state = stateOf(folder);
    if (state === seen) return loaded;
    seen = state;
    try {
      const next = loadCrews(folder);
      for (const name of next.invalid.keys()) {
        const before = loaded.crews.get(name);
        if (before) next.crews.set(name, before);
      }
      report(loaded.invalid, next.invalid);
      loaded = next;
    } catch {
      // The folder is away while it is replaced.
    }
    return loaded;
  }

  function report(before: LoadedCrews['invalid'], invalid: LoadedCrews['invalid']): void {
    for (const [name, { problems }] of invalid) {
      if (problems.join('\n') !== before.get(name)?.problems.join('\n')) onMistakes(name, problems);
    }
  }

  return {
    /** By name. A crew whose files got mistakes stays as it was before. */
    crews: (): ReadonlyMap<string, DeployedCrew> => current().crews,
    /** Crews with mistakes in their files, also those of which an earlier version is in `crews`. */
    invalidCrews: (): ReadonlyMap<string, InvalidCrew> => current().invalid,
  };
}

/** Changes with every folder and every file of YAML that is written, added or removed. Empty when the folder cannot be read. */
function stateOf(folder: string): string {
  const paths = globSync(['**/', '**/*.{yml,yaml}'], { cwd: folder, deep: MAX_DEPTH, onlyFiles: false });
  const states = paths.map((path) => {
    const stats = path.endsWith('/') ? undefined : statSync(join(folder, path), { throwIfNoEntry: false });
    return stats ? `${path} ${stats.mtimeMs} ${stats.size} ${stats.ino}` : path;
  });
  return states.sort().join('\n');
}
