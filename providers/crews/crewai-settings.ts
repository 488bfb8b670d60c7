import { resembles } from '../../domain/similar-names.js';

/** Settings of CrewAI that Postback does not honour. */
interface UnsupportedSetting {
  /** The reason, for the warning or the problem; null: the setting has no effect that anyone would miss. */
  reason: string | null;
  /** Whether ignoring the setting would give wrong results: the crew is rejected. */
  wrong?: boolean;
}

/** The warnings and problems about the settings in a file, one line each. */
export interface SettingFindings {
  problems: string[];
  warnings: string[];
}

const noEffect: UnsupportedSetting = { reason: null };
const ignored = (reason: string): UnsupportedSetting => ({ reason });
const rejected = (reason: string): UnsupportedSetting => ({ reason, wrong: true });

const noMemory = ignored('agents have no memory of earlier executions');
const noCode = ignored('agents do not run code');
const ownPrompts = ignored('the prompts are fixed');
const callbacks = ignored('Python functions do not run here; use the webhook URLs of the kickoff');
const noKnowledge = ignored('put the documents into a database, and give the agent the tool query_database');
const rates = ignored('requests to the model are not limited per crew');
const remoteTools = rejected('the agent would work without its tools; describe them under "tools" in crew.yaml');
const pythonClass = rejected(
  'it names a Python class; describe the output as a JSON schema, in output_json of crew.yaml',
);
const unchecked = rejected('the output would be used unchecked; set human_input, or check the output of the execution');
const hierarchical = rejected('a hierarchical process is not supported; tasks run in their order, each by its agent');

export const AGENT_SETTINGS: Readonly<Record<string, UnsupportedSetting>> = {
  verbose: noEffect,
  cache: noEffect,
  i18n: noEffect,
  respect_context_window: noEffect,
  use_stop_words: noEffect,
  allow_delegation: ignored('agents do not delegate; each does its own tasks'),
  memory: noMemory,
  embedder: noMemory,
  knowledge: noKnowledge,
  knowledge_sources: noKnowledge,
  max_rpm: rates,
  max_execution_time: ignored('a step has a time limit of its own'),
  max_retry_limit: ignored('transient errors are retried by a schedule of their own'),
  max_tokens: ignored('the model server sets the limit'),
  function_calling_llm: ignored('the model of the agent calls its tools'),
  step_callback: callbacks,
  callbacks,
  system_template: ownPrompts,
  prompt_template: ownPrompts,
  response_template: ownPrompts,
  use_system_prompt: ownPrompts,
  inject_date: ignored('the date is not added; pass it as an input'),
  date_format: noEffect,
  allow_code_execution: noCode,
  code_execution_mode: noCode,
  multimodal: ignored('agents read text only'),
  reasoning: ignored('agents do not plan before they start'),
  planning: ignored('agents do not plan before they start'),
  max_reasoning_attempts: noEffect,
  apps: remoteTools,
  mcps: remoteTools,
  guardrail: unchecked,
  guardrail_max_retries: noEffect,
};

export const TASK_SETTINGS: Readonly<Record<string, UnsupportedSetting>> = {
  name: noEffect,
  verbose: noEffect,
  output_file: ignored('files are not written; the output is in the status and in the callbacks'),
  create_directory: noEffect,
  markdown: ignored('ask for Markdown in expected_output'),
  callback: callbacks,
  max_retries: noEffect,
  guardrail_max_retries: noEffect,
  input_files: ignored('put the files into a database, and give the agent the tool query_database'),
  security_config: noEffect,
  allow_crewai_trigger_context: noEffect,
  converter_cls: noEffect,
  output_json: pythonClass,
  output_pydantic: pythonClass,
  response_model: pythonClass,
  guardrail: unchecked,
  guardrails: unchecked,
  condition: rejected('tasks are not conditional; the task would always run'),
};

/** Settings that CrewAI's users pass to the crew itself, in Python. */
export const CREW_SETTINGS: Readonly<Record<string, UnsupportedSetting>> = {
  name: noEffect,
  verbose: noEffect,
  cache: noEffect,
  share_crew: noEffect,
  tracing: noEffect,
  stream: ignored('follow the execution by its callbacks'),
  memory: noMemory,
  embedder: noMemory,
  knowledge: noKnowledge,
  knowledge_sources: noKnowledge,
  max_rpm: rates,
  planning: ignored('crews do not plan before they start'),
  planning_llm: noEffect,
  function_calling_llm: ignored('the model of each agent calls its tools'),
  chat_llm: ignored('crews do not chat'),
  step_callback: callbacks,
  task_callback: callbacks,
  output_log_file: ignored('files are not written; the steps are in the callbacks'),
  prompt_file: ownPrompts,
  manager_llm: hierarchical,
  manager_agent: hierarchical,
};

/**
 * Looks for settings that are not honoured. A value of `false` or nothing, such as an empty list, changes nothing.
 * @param honoured the names of the settings that are
 * @param unsupported the other settings of CrewAI
 * @param foreignAllowed whether settings that nobody knows are ignored with a warning
 * @param at formats a message about a setting, with file and line
 */
export function checkSettings(
  settings: object,
  honoured: readonly string[],
  unsupported: Readonly<Record<string, UnsupportedSetting>>,
  foreignAllowed: boolean,
  at: (key: string, message: string) => string,
): SettingFindings {
  const findings: SettingFindings = { problems: [], warnings: [] };
  for (const [key, value] of Object.entries(settings)) {
    if (honoured.includes(key)) continue;
    const known = Object.hasOwn(unsupported, key) ? unsupported[key] : undefined;
    if (known) {
      if (changesNothing(value) || known.reason === null) continue;
      const list = known.wrong ? findings.problems : findings.warnings;
      list.push(at(key, `${key} is not supported: ${known.reason}`));
      continue;
    }
    const meant = honoured.find((name) => resembles(name, key) && !isGivenText(settings, name));
    if (meant) findings.problems.push(at(key, `unknown key "${key}"; did you mean "${meant}"?`));
    else if (foreignAllowed) findings.warnings.push(at(key, `unknown key "${key}" is ignored`));
    else findings.problems.push(at(key, `unknown key "${key}"`));
  }
  return findings;
}

/** Python's YAML, which CrewAI uses, also reads `no` and `off` as false. */
function changesNothing(value: unknown): boolean {
  if (typeof value === 'string') return ['', 'no', 'off', 'false'].includes(value.trim().toLowerCase());
  return value === false || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

/** Whether a setting has a text of its own: `tone` beside a `role` is not a misspelled `role`. */
function isGivenText(settings: object, name: string): boolean {
  const value: unknown = (settings as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '';
}
