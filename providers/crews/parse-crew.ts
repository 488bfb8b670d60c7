import { z } from 'zod';
import { canonicalJsonOfAny } from '../../domain/canonical-json.js';
import {
  CREW_TOOLS,
  type CrewDefinition,
  type CrewReview,
  type CrewTask,
  type DeployedCrew,
  placeholdersOf,
} from '../../domain/crews/crews.js';
import { resembles } from '../../domain/similar-names.js';
import { AGENT_SETTINGS, CREW_SETTINGS, checkSettings, TASK_SETTINGS } from './crewai-settings.js';
import { AGENT_KEYS, type agentsFile, CREW_KEYS, type crewFile, TASK_KEYS, type tasksFile } from './schemas.js';
import { type Findings, type Report, within, type YamlFile } from './yaml-file.js';

/** The files of a crew, each valid in itself. */
export interface FilesOfCrew {
  name: string;
  /** Where `crew.yaml` is, or would be, in messages. */
  crewFilePath: string;
  agents: YamlFile<z.output<typeof agentsFile>>;
  tasks: YamlFile<z.output<typeof tasksFile>>;
  crew: YamlFile<z.output<typeof crewFile>>;
}

type TaskSettings = z.output<typeof tasksFile>[string];

/** A task as both files describe it. Its report knows which file has a setting. */
interface MergedTask extends Report {
  name: string;
  settings: TaskSettings;
  /** Its place in `crew.yaml`, if that lists it. */
  index: number | undefined;
  /** Whether `crew.yaml` has the setting. */
  isOurs(key: PropertyKey | undefined): boolean;
}

/** Model calls per attempt. */
const MAX_ITERATIONS = 50;

/**
 * The crew that its files describe. `crew.yaml` wins over the other two.
 * @param findings receives the problems and warnings of the files
 * @returns undefined when there are problems
 */
export function parseCrew(files: FilesOfCrew, findings: Findings): DeployedCrew | undefined {
  const { name, agents, crew } = files;
  checkFiles(files);
  const tasks = mergeTasks(files);
  const agentNames = Object.keys(agents.value);
  checkMissingAgents(files, tasks, agentNames);
  checkReferences(tasks, agentNames);
  checkReview(files, tasks);
  const knownTools = checkTools(files, tasks);
  for (const task of tasks)
    if (task.settings.description === undefined) task.problem([], `${task.name}.description is missing`);
  for (const task of tasks) checkOutput(task);
  if (findings.problems.length > 0) return undefined;
  const definition: Omit<CrewDefinition, 'inputs'> = {
    name,
    organisations: crew.value.organisations ?? null,
    databases: crew.value.databases ?? null,
    ...reviewOf(files),
    ...(crew.value.tools ? { tools: crew.value.tools } : {}),
    agents: Object.entries(agents.value).map(
      ([agent, { role, goal, backstory, tools = [], llm = null, max_iter }]) => ({
        name: agent,
        role,
        goal,
        backstory,
        tools: knownTools(tools),
        llm,
        max_iter: Math.min(max_iter, MAX_ITERATIONS),
      }),
    ),
    tasks: tasks.map(({ name: task, settings }, index): CrewTask => {
      const agent = settings.agent ?? agentNames[0]!;
      return {
        name: task,
        description: settings.description!,
        expected_output: settings.expected_output,
        agent,
        context: settings.context ?? defaultContext(tasks, index),
        human_input: settings.human_input ?? false,
        ...(settings.async_execution ? { async_execution: true } : {}),
        tools: knownTools(settings.tools ?? agents.value[agent]!.tools),
        ...(isSchema(settings.output_json) ? { output_json: JSON.stringify(settings.output_json, null, 2) } : {}),
      };
    }),
  };
  const inputs = inputsOf(definition);
  return { ...definition, inputs, input_settings: inputSettings(files, inputs), warnings: findings.warnings };
}

/** Whether a setting is a JSON schema; in CrewAI's files it is the name of a Python class. */
function isSchema(setting: unknown): setting is Record<string, unknown> {
  return typeof setting === 'object' && setting !== null;
}

function honouredKeys({ output_json }: { output_json?: unknown } & Record<string, unknown>): string[] {
  return isSchema(output_json) ? [...TASK_KEYS, 'output_json'] : TASK_KEYS;
}

/** Settings of a task whose output `crew.yaml` describes. */
function withoutOutputs({
  output_json: _json,
  output_pydantic: _pydantic,
  response_model: _model,
  ...rest
}: TaskSettings) {
  return rest;
}

/** Reports the settings of all three files that are not honoured. */
function checkFiles({ agents, tasks, crew }: FilesOfCrew): void {
  const listed = crew.value.tasks ?? [];
  const withSchema = new Set(listed.filter(({ output_json }) => isSchema(output_json)).map(({ task }) => task));
  for (const [agent, settings] of Object.entries(agents.value)) {
    const report = within(agents, [agent], `${agent}: `);
    checkSettings(settings, AGENT_KEYS, AGENT_SETTINGS, true, report);
    if (settings.max_iter > MAX_ITERATIONS)
      report.warn(['max_iter'], `max_iter is ${settings.max_iter}, and ${MAX_ITERATIONS} is used`);
  }
  for (const [task, settings] of Object.entries(tasks.value)) {
    const own = withSchema.has(task) ? withoutOutputs(settings) : settings;
    checkSettings(own, honouredKeys(settings), TASK_SETTINGS, true, within(tasks, [task], `${task}: `));
  }
  for (const [index, settings] of listed.entries()) {
    const report = within(crew, ['tasks', index], `${settings.task}: `);
    checkSettings(settings, ['task', ...honouredKeys(settings)], TASK_SETTINGS, false, report);
  }
  checkSettings(crew.value, CREW_KEYS, CREW_SETTINGS, false, crew);
}

/**
 * The tasks with the settings of both files. Tasks that `crew.yaml` names run in its order; the others keep their places.
 */
function mergeTasks({ tasks, crew }: FilesOfCrew): MergedTask[] {
  const named = new Map<string, number>();
  for (const [index, { task }] of (crew.value.tasks ?? []).entries()) {
    const report = within(crew, ['tasks', index, 'task'], `tasks.${index}.task names "${task}"`);
    if (!Object.hasOwn(tasks.value, task)) report.problem([], ', which is not in tasks.yaml');
    else if (named.has(task)) report.problem([], ' again');
    else named.set(task, index);
  }
  const inOrder = [...named.keys()];
  let next = 0;
  const order = Object.keys(tasks.value).map((task) => (named.has(task) ? inOrder[next++]! : task));
  return order.map((name) => {
    const index = named.get(name);
    const { task: _name, ...own } = index === undefined ? { task: name } : crew.value.tasks![index]!;
    const isOurs = (key: PropertyKey | undefined) => key !== undefined && Object.hasOwn(own, key);
    const [ours, theirs] = [within(crew, ['tasks', index!]), within(tasks, [name])];
    return {
      name,
      settings: { ...tasks.value[name]!, ...own } as TaskSettings,
      index,
      isOurs,
      problem: (path, message) => (isOurs(path[0]) ? ours : theirs).problem(path, message),
      warn: (path, message) => (isOurs(path[0]) ? ours : theirs).warn(path, message),
    };
  });
}

/** Reports tasks without an agent, with the lines that name it. A single agent does all tasks. */
function checkMissingAgents(files: FilesOfCrew, tasks: MergedTask[], agents: string[]): void {
  const missing = agents.length > 1 ? tasks.filter(({ settings }) => settings.agent === undefined) : [];
  const unlisted = missing.filter(({ index }) => index === undefined).map(({ name }) => name);
  if (unlisted.length > 0) {
    const names = new Intl.ListFormat('en-GB').format(unlisted.map((name) => `${name}.agent`));
    // A second "tasks" would be a mistake, and the order of the list is that of the tasks.
    const hasList = files.crew.value.tasks !== undefined;
    const place = `in ${files.crewFilePath}`;
    const lines = [
      `${names} ${unlisted.length === 1 ? 'is' : 'are'} missing; name the agents ` +
        `${hasList ? `under "tasks" ${place}, in the order of the tasks` : place}:`,
      ...(hasList ? [] : ['tasks:']),
      ...unlisted.flatMap((name) => [`  - task: ${name}`, `    agent: # ${agents.join(', ')}`]),
    ];
    files.tasks.problem([unlisted[0]!], lines.join('\n'));
  }
  for (const { name, index } of missing) {
    if (index !== undefined)
      files.crew.problem(['tasks', index], `${name}.agent is missing; the agents are ${agents.join(', ')}`);
  }
}

/**
 * Finds tools that are neither built in nor described in `crew.yaml`. In the files of CrewAI, they are functions in Python: the
 * crew runs without them. In `crew.yaml`, or with a spelling mistake, they keep the crew from running.
 * @returns a function that keeps the known tools of a list
 */
function checkTools({ agents, crew }: FilesOfCrew, tasks: MergedTask[]) {
  const described = Object.keys(crew.value.tools ?? {});
  const known: string[] = [...CREW_TOOLS, ...described];
  const describe = 'describe others under "tools" in crew.yaml';
  const check = (place: string, names: readonly string[] = [], ours: boolean, report: Report) => {
    for (const [index, tool] of names.entries()) {
      if (known.includes(tool)) continue;
      const meant = known.find((name) => resembles(name, tool));
      const { problem, warn } = within(report, ['tools', index], `${place}.tools.${index}`);
      if (meant) problem([], `: unknown tool "${tool}"; did you mean "${meant}"?`);
      else if (ours) problem([], ` is not a tool; the tools are ${known.join(' and ')}; ${describe}`);
      else warn([], `: the tool "${tool}" is a function in Python, and the agent works without it; ${describe}`);
    }
  };
  for (const tool of described) {
    if ((CREW_TOOLS as readonly string[]).includes(tool))
      crew.problem(['tools', tool], `tools.${tool} has the name of a built-in tool`);
  }
  for (const [agent, { tools }] of Object.entries(agents.value)) check(agent, tools, false, within(agents, [agent]));
  for (const task of tasks) check(task.name, task.settings.tools, task.isOurs('tools'), task);
  return (names: readonly string[] = []) => names.filter((tool) => known.includes(tool));
}

function checkOutput({ name, settings: { output_json }, problem }: MergedTask): void {
  if (!isSchema(output_json)) return;
  try {
    z.fromJSONSchema(output_json);
  } catch (error) {
    problem(['output_json'], `${name}.output_json is not a JSON schema: ${(error as Error).message}`);
  }
}

/** Finds unknown agents, and context that is not an earlier task, which also excludes cycles. */
function checkReferences(tasks: MergedTask[], agents: string[]): void {
  const names = tasks.map(({ name }) => name);
  for (const [position, { name, settings, problem }] of tasks.entries()) {
    const { agent, context = [] } = settings;
    if (agent !== undefined && !agents.includes(agent))
      problem(['agent'], `${name}.agent names "${agent}", which is not in agents.yaml`);
    for (const [n, earlier] of context.entries()) {
      const index = names.indexOf(earlier);
      if (index >= 0 && index < position) continue;
      const later = 'a later task; list both in their order under "tasks" in crew.yaml';
      const reason = index < 0 ? 'which is not in tasks.yaml' : index === position ? 'the task itself' : later;
      problem(['context', n], `${name}.context names "${earlier}", ${reason}`);
    }
  }
}

/** The earlier tasks; for an async task, without the async tasks right before it, which run at the same time. */
function defaultContext(tasks: MergedTask[], index: number): string[] {
  let end = index;
  if (tasks[index]!.settings.async_execution) {
    while (end > 0 && tasks[end - 1]!.settings.async_execution) end--;
  }
  return tasks.slice(0, end).map(({ name }) => name);
}

/** Finds waits for people that cannot work, and settings for waits that never happen. */
function checkReview({ crew }: FilesOfCrew, tasks: MergedTask[]): void {
  const { deadline, reminder, on_deadline } = crew.value;
  const people = tasks.some(({ settings }) => settings.human_input);
  for (const key of ['deadline', 'reminder'] as const) {
    if (crew.value[key] !== undefined && !people) crew.warn([key], 'no task has human_input');
  }
  if (on_deadline !== undefined && deadline === undefined)
    crew.warn(['on_deadline'], 'on_deadline has no effect without a deadline');
  if (deadline !== undefined && reminder !== undefined && reminder >= deadline)
    crew.problem(['reminder'], 'reminder must be shorter than the deadline');
  for (const { name, settings, problem } of tasks) {
    if (settings.async_execution && settings.human_input)
      problem(['async_execution'], `${name}: a task with human_input cannot be async`);
  }
}

function reviewOf({ crew }: FilesOfCrew): { review?: CrewReview } {
  const { deadline, reminder, on_deadline = 'fail' } = crew.value;
  if (deadline === undefined && reminder === undefined) return {};
  return { review: { deadline_ms: deadline ?? null, reminder_ms: reminder ?? null, on_deadline } };
}

function inputsOf({ agents, tasks }: Omit<CrewDefinition, 'inputs'>): string[] {
  const texts = [
    ...tasks.flatMap(({ description, expected_output }) => [description, expected_output]),
    ...agents.flatMap(({ role, goal, backstory }) => [role, goal, backstory]),
  ];
  return [...new Set(texts.flatMap(placeholdersOf))];
}

/** What `crew.yaml` says about inputs. Defaults that are not text become JSON, as in a kickoff. */
function inputSettings({ crew }: FilesOfCrew, inputs: string[]): DeployedCrew['input_settings'] {
  const described = Object.entries(crew.value.inputs ?? {});
  for (const [name] of described) {
    if (!inputs.includes(name)) crew.warn(['inputs', name], `no text of the crew has {${name}}`);
  }
  return Object.fromEntries(
    described.map(([name, { description = null, default: value }]) => {
      const text = typeof value === 'string' ? value : canonicalJsonOfAny(value ?? null);
      return [name, { description, default: value === undefined || value === null ? null : text }];
    }),
  );
}
