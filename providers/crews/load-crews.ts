import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
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
  const read = <Schema extends z.ZodType>(path: string, schema: Schema) =>
    readYaml(join(folder, path), join(displayPath, path), schema, findings);
  const agents = read(join(config, 'agents.yaml'), agentsFile);
  const tasks = read(join(config, 'tasks.yaml'), tasksFile);
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
  return ['.', 'config', ...packages].find((place) => existsSync(join(folder, place, 'agents.yaml'))) ?? '.';
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .sort();
}
