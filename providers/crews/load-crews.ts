import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { globSync } from 'tinyglobby';
import type { z } from 'zod';
import type { DeployedCrew, InvalidCrew } from '../../domain/crews/crews.js';
import { type FilesOfCrew, parseCrew } from './parse-crew.js';
import { agentsFile, crewFile, tasksFile } from './schemas.js';
import { absentFile, type Findings, readYaml } from './yaml-file.js';

/** The crews of a folder by name. */
export interface LoadedCrews {
  crews: Map<string, DeployedCrew>;
  /** Crews with mistakes in their files. They cannot run, and do not affect the others. */
  invalid: Map<string, InvalidCrew>;
}

const CREW_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/**
 * Loads every crew of a folder: `<crew>/agents.yaml` and `<crew>/tasks.yaml`, and `<crew>/crew.yaml` if there is one.
 * @throws Error when the folder cannot be read
 */
export function loadCrews(folder: string): LoadedCrews {
  const crews = new Map<string, DeployedCrew>();
  const invalid = new Map<string, InvalidCrew>();
  for (const name of crewFolders(folder)) {
    const displayPath = join(basename(folder), name);
    const findings: Findings = { problems: [], warnings: [] };
    if (!CREW_NAME.test(name)) {
      findings.problems.push(`${displayPath}: the folder name of a crew may hold letters, digits, "_" and "-"`);
    }
    const { organisations, files } = readFiles(name, join(folder, name), displayPath, findings);
    const crew = files && parseCrew(files, findings);
    if (crew) crews.set(name, crew);
    else invalid.set(name, { organisations, problems: findings.problems });
  }
  return { crews, invalid };
}

function crewFolders(folder: string): string[] {
  try {
    return foldersIn(folder);
  } catch {
    throw new Error(`${folder}: the folder does not exist (POSTBACK_CREWS_DIR)`);
  }
}

/** @returns who may run the crew, nobody if that cannot be read; and its files, if all of them can be read */
function readFiles(
  name: string,
  folder: string,
  displayPath: string,
  findings: Findings,
): Pick<InvalidCrew, 'organisations'> & { files: FilesOfCrew | undefined } {
  const config = configFolder(folder);
  const read = <Schema extends z.ZodType>(path: string, schema: Schema, essential?: string) =>
    readYaml(join(folder, path), join(displayPath, path), schema, findings, essential);
  const agents = read(join(config, 'agents.yaml'), agentsFile, 'role');
  const tasks = read(join(config, 'tasks.yaml'), tasksFile, 'description');
  if (!existsSync(join(folder, config, 'agents.yaml'))) {
    const places = 'config/, src/config/ or src/<package>/config/';
    findings.problems.push(`${displayPath}: agents.yaml and tasks.yaml may also be in ${places}`);
  }
  const crewPath = existsSync(join(folder, 'crew.yaml')) ? 'crew.yaml' : join(config, 'crew.yaml');
  const crewFilePath = join(displayPath, crewPath);
  const exists = existsSync(join(folder, crewPath));
  const crew = exists ? read(crewPath, crewFile) : absentFile<z.output<typeof crewFile>>(crewFilePath, {}, findings);
  return {
    organisations: crew ? (crew.value.organisations ?? null) : [],
    files: agents && tasks && crew && { name, crewFilePath, agents, tasks, crew },
  };
}

/** Where the files of a crew are: in its folder, or where a project of CrewAI has them. */
function configFolder(folder: string): string {
  const source = join(folder, 'src');
  const packages = existsSync(source) ? foldersIn(source).map((name) => join('src', name, 'config')) : [];
  return (
    ['.', 'config', join('src', 'config'), ...packages].find((place) =>
      existsSync(join(folder, place, 'agents.yaml')),
    ) ?? '.'
  );
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .sort();
}

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
