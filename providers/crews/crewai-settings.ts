import { nearestName, resembles } from '../../domain/similar-names.js';
import type { Report } from './yaml-file.js';

/** Settings of CrewAI that Postback does not honour. */
interface UnsupportedSetting {
  /** The reason, for the warning or the problem; null: the setting has no effect that anyone would miss. */
  reason: string | null;
  /** Whether ignoring the setting would give wrong results: the crew is rejected. */
  wrong?: boolean;
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

/** The same for several settings. */
const all = (setting: UnsupportedSetting, ...names: string[]): Record<string, UnsupportedSetting> =>
  Object.fromEntries(names.map((name) => [name, setting]));

export const AGENT_SETTINGS: Readonly<Record<string, UnsupportedSetting>> = {
  ...all(noEffect, 'verbose', 'cache', 'i18n', 'respect_context_window', 'use_stop_words', 'date_format'),
  ...all(noEffect, 'max_reasoning_attempts', 'guardrail_max_retries'),
  ...all(noMemory, 'memory', 'embedder'),
  ...all(noKnowledge, 'knowledge', 'knowledge_sources'),
  ...all(callbacks, 'step_callback', 'callbacks'),
  ...all(ownPrompts, 'system_template', 'prompt_template', 'response_template', 'use_system_prompt'),
  ...all(noCode, 'allow_code_execution', 'code_execution_mode'),
  ...all(ignored('agents do not plan before they start'), 'reasoning', 'planning'),
  ...all(remoteTools, 'apps', 'mcps'),
  allow_delegation: ignored('agents do not delegate; each does its own tasks'),
  max_rpm: rates,
  max_execution_time: ignored('a step has a time limit of its own'),
  max_retry_limit: ignored('transient errors are retried by a schedule of their own'),
  max_tokens: ignored('the model server sets the limit'),
  function_calling_llm: ignored('the model of the agent calls its tools'),
  inject_date: ignored('the date is not added; pass it as an input'),
  multimodal: ignored('agents read text only'),
  guardrail: unchecked,
};

export const TASK_SETTINGS: Readonly<Record<string, UnsupportedSetting>> = {
  ...all(noEffect, 'name', 'verbose', 'create_directory', 'max_retries', 'guardrail_max_retries', 'security_config'),
  ...all(noEffect, 'allow_crewai_trigger_context', 'converter_cls'),
  ...all(pythonClass, 'output_json', 'output_pydantic', 'response_model'),
  ...all(unchecked, 'guardrail', 'guardrails'),
  output_file: ignored('files are not written; the output is in the status and in the callbacks'),
  markdown: ignored('ask for Markdown in expected_output'),
  callback: callbacks,
  input_files: ignored('put the files into a database, and give the agent the tool query_database'),
  condition: rejected('tasks are not conditional; the task would always run'),
};

/** Settings that CrewAI's users pass to the crew itself, in Python. */
export const CREW_SETTINGS: Readonly<Record<string, UnsupportedSetting>> = {
  ...all(noEffect, 'name', 'verbose', 'cache', 'share_crew', 'tracing', 'planning_llm'),
  ...all(noMemory, 'memory', 'embedder'),
  ...all(noKnowledge, 'knowledge', 'knowledge_sources'),
  ...all(callbacks, 'step_callback', 'task_callback'),
  ...all(hierarchical, 'manager_llm', 'manager_agent'),
  stream: ignored('follow the execution by its callbacks'),
  max_rpm: rates,
  planning: ignored('crews do not plan before they start'),
  function_calling_llm: ignored('the model of each agent calls its tools'),
  chat_llm: ignored('crews do not chat'),
  output_log_file: ignored('files are not written; the steps are in the callbacks'),
  prompt_file: ownPrompts,
};

/**
 * Reports settings that are not honoured. A value of `false` or nothing, such as an empty list, changes nothing.
 * @param honoured the names of the settings that are
 * @param unsupported the other settings of CrewAI
 * @param foreignAllowed whether settings that nobody knows are ignored with a warning
 */
export function checkSettings(
  settings: object,
  honoured: readonly string[],
  unsupported: Readonly<Record<string, UnsupportedSetting>>,
  foreignAllowed: boolean,
  report: Report,
): void {
  for (const [key, value] of Object.entries(settings)) {
    if (honoured.includes(key)) continue;
    const known = Object.hasOwn(unsupported, key) ? unsupported[key] : undefined;
    if (known) {
      if (changesNothing(value) || known.reason === null) continue;
      const add = known.wrong ? report.problem : report.warn;
      add([key], `${key} is not supported: ${known.reason}`);
      continue;
    }
    const meant = nearestName(key, honoured);
    if (meant && resembles(meant, key) && !isGiven(settings, meant))
      report.problem([key], `unknown key "${key}"; did you mean "${meant}"?`);
    else if (foreignAllowed) report.warn([key], `unknown key "${key}" is ignored`);
    else report.problem([key], `unknown key "${key}"`);
  }
}

/** Python's YAML, which CrewAI uses, also reads `no` and `off` as false. */
function changesNothing(value: unknown): boolean {
  if (typeof value === 'string') return ['', 'no', 'off', 'false'].includes(value.trim().toLowerCase());
  return value === false || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

/** Whether a setting has a text or a list of its own: `goals` beside a `goal` is not a misspelled `goal`. */
function isGiven(settings: object, name: string): boolean {
  const value: unknown = (settings as Record<string, unknown>)[name];
  return (typeof value === 'string' && value !== '') || Array.isArray(value);
}
