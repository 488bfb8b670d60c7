import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { z } from 'zod';
import { type CrewDefinition, placeholdersOf } from '../../domain/crews/crews.js';
import { agentsFile, crewFile, tasksFile } from './schemas.js';
import { readOptionalYaml, readYaml, type YamlFile } from './yaml-file.js';

/** The problems in the files of crews, a line each with file and line number. */
export class CrewFilesError extends Error {
  override readonly name = 'CrewFilesError';

  constructor(readonly problems: readonly string[]) {
    super(`the crews cannot be loaded:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const CREW_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/**
 * Loads every crew of a folder: `<crew>/agents.yaml` and `<crew>/tasks.yaml`, and `<crew>/crew.yaml` if there is one.
 * @throws CrewFilesError with all problems of all crews
 */
export function loadCrews(folder: string): Map<string, CrewDefinition> {
  const crews = new Map<string, CrewDefinition>();
  const problems: string[] = [];
  for (const name of crewFolders(folder)) {
    const earlierProblems = problems.length;
    const displayPath = join(basename(folder), name);
    if (!CREW_NAME.test(name))
      problems.push(`${displayPath}: the folder name of a crew may hold a-z, 0-9, "_" and "-"`);
    const crew = readCrew(name, join(folder, name), displayPath, problems);
    if (crew && problems.length === earlierProblems) crews.set(name, crew);
  }
  if (problems.length > 0) throw new CrewFilesError(problems);
  return crews;
}

function crewFolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name)
      .sort();
  } catch {
    throw new CrewFilesError([`${folder}: the folder does not exist (POSTBACK_CREWS_DIR)`]);
  }
}

function readCrew(name: string, folder: string, displayPath: string, problems: string[]): CrewDefinition | undefined {
  const agents = readYaml(join(folder, 'agents.yaml'), `${displayPath}/agents.yaml`, agentsFile, problems);
  const tasks = readYaml(join(folder, 'tasks.yaml'), `${displayPath}/tasks.yaml`, tasksFile, problems);
  const access = readOptionalYaml(join(folder, 'crew.yaml'), `${displayPath}/crew.yaml`, crewFile, problems, {});
  if (!agents || !tasks || !access) return undefined;
  problems.push(...checkReferences(agents.value, tasks));
  const crew: Omit<CrewDefinition, 'inputs'> = {
    name,
    organisations: access.organisations ?? null,
    databases: access.databases ?? null,
    agents: Object.entries(agents.value).map(([agent, { role, goal, backstory, tools = [], llm, max_iter }]) => {
      return { name: agent, role, goal, backstory, tools, llm: llm ?? null, max_iter };
    }),
    tasks: Object.entries(tasks.value).map(([task, settings], index, all) => ({
      name: task,
      description: settings.description,
      expected_output: settings.expected_output,
      agent: settings.agent,
      context: settings.context ?? all.slice(0, index).map(([earlier]) => earlier),
      human_input: settings.human_input,
      tools: settings.tools ?? agents.value[settings.agent]?.tools ?? [],
    })),
  };
  return { ...crew, inputs: inputsOf(crew) };
}

/** Finds unknown agents, and context that is not an earlier task, which also excludes cycles. */
function checkReferences(agents: z.output<typeof agentsFile>, tasks: YamlFile<z.output<typeof tasksFile>>): string[] {
  const names = Object.keys(tasks.value);
  return Object.entries(tasks.value).flatMap(([task, { agent, context = [] }], position) => [
    ...(Object.hasOwn(agents, agent)
      ? []
      : [tasks.problem([task, 'agent'], `${task}.agent names "${agent}", which is not in agents.yaml`)]),
    ...context.flatMap((earlier, n) => {
      const index = names.indexOf(earlier);
      if (index >= 0 && index < position) return [];
      const reason = index < 0 ? 'which is not in this file' : index === position ? 'the task itself' : 'a later task';
      return [tasks.problem([task, 'context', n], `${task}.context names "${earlier}", ${reason}`)];
    }),
  ]);
}

function inputsOf({ agents, tasks }: Omit<CrewDefinition, 'inputs'>): string[] {
  const texts = [
    ...tasks.flatMap(({ description, expected_output }) => [description, expected_output]),
    ...agents.flatMap(({ role, goal, backstory }) => [role, goal, backstory]),
  ];
  return [...new Set(texts.flatMap(placeholdersOf))];
}
