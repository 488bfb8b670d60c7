import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { DeployedCrew } from '../../domain/crews/crews.js';
import { crewOf, type FilesOfCrew } from './crew-of-files.js';
import { agentsFile, crewFile, tasksFile } from './schemas.js';
import { readOptionalYaml, readYaml } from './yaml-file.js';

/** The problems in the files of crews, each with file and line number. */
export class CrewFilesError extends Error {
  override readonly name = 'CrewFilesError';

  constructor(readonly problems: readonly string[]) {
    super(`the crews cannot be loaded:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const CREW_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/**
 * Loads every crew of a folder: `<crew>/agents.yaml` and `<crew>/tasks.yaml`, and `<crew>/crew.yaml` if there is one.
 * @throws CrewFilesError with all problems of all crews
 */
export function loadCrews(folder: string): Map<string, DeployedCrew> {
  const crews = new Map<string, DeployedCrew>();
  const problems: string[] = [];
  for (const name of crewFolders(folder)) {
    const displayPath = join(basename(folder), name);
    const found: string[] = [];
    if (!CREW_NAME.test(name)) {
      found.push(`${displayPath}: the folder name of a crew may hold letters, digits, "_" and "-"`);
    }
    const files = readFiles(name, join(folder, name), displayPath, found);
    const crew = files && crewOf(files, found);
    if (crew) crews.set(name, crew);
    problems.push(...found);
  }
  if (problems.length > 0) throw new CrewFilesError(problems);
  return crews;
}

function crewFolders(folder: string): string[] {
  try {
    return foldersIn(folder);
  } catch {
    throw new CrewFilesError([`${folder}: the folder does not exist (POSTBACK_CREWS_DIR)`]);
  }
}

function readFiles(name: string, folder: string, displayPath: string, problems: string[]): FilesOfCrew | undefined {
  const config = configFolder(folder);
  const [agentsPath, tasksPath] = [join(config, 'agents.yaml'), join(config, 'tasks.yaml')];
  const crewPath = existsSync(join(folder, 'crew.yaml')) ? 'crew.yaml' : join(config, 'crew.yaml');
  const agents = readYaml(join(folder, agentsPath), join(displayPath, agentsPath), agentsFile, problems);
  const tasks = readYaml(join(folder, tasksPath), join(displayPath, tasksPath), tasksFile, problems);
  const crewFilePath = join(displayPath, crewPath);
  const crew = readOptionalYaml(join(folder, crewPath), crewFilePath, crewFile, problems, {});
  return agents && tasks && crew && { name, crewFilePath, agents, tasks, crew };
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
