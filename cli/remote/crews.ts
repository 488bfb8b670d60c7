import { bodyOf, type Postback, type Schemas } from '../../client/index.js';
import { deciderInWords } from '../../domain/crews/decisions.js';
import { CREW_TASK_STATUS_TABLE, EXECUTION_STATUS_TABLE } from '../../domain/crews/states.js';
import { fields, localTime, paint, paintState, print, table } from './output.js';
import { everyEntry, findServer, listOf, type ServerOptions } from './server.js';

interface KickoffOptions extends ServerOptions {
  input: Record<string, string>;
  webhook?: string;
  /** Static headers of the callbacks. */
  header?: Record<string, string>;
}

/** `postback crews list` */
export async function listCrews(options: ServerOptions): Promise<void> {
  const data = await bodyOf(findServer(options).client('crew_org').GET('/crews'));
  const rows = data.crews.map(({ name, tasks, inputs }) => ({
    crew: name,
    tasks: tasks.length,
    inputs: inputs.join(', '),
  }));
  const [first] = data.crews;
  const inputs = first?.inputs.flatMap((name) => ['--input', `${name}=…`]) ?? [];
  const next = first && ['crews', 'kickoff', first.name, ...inputs];
  print({ ...options, next }, data, () => {
    const problems = data.invalid.map(({ name, problems }) => `${paint('red', '✗')} ${name}: ${problems.join('; ')}`);
    const warnings = data.crews.flatMap(({ name, warnings }) =>
      warnings.map((text) => `${paint('yellow', '!')} ${name}: ${text}`),
    );
    return [table(rows), ...warnings, ...problems].join('\n');
  });
}

/** `postback crews kickoff` */
export async function kickoff(crew: string, { input, webhook, header, ...options }: KickoffOptions): Promise<void> {
  const client = findServer(options).client('crew_org');
  const urls = { taskWebhookUrl: webhook, stepWebhookUrl: webhook, crewWebhookUrl: webhook };
  const body = { inputs: input, ...urls, webhookHeaders: header };
  const call = client.POST('/crews/{crew}/kickoff', { params: { path: { crew } }, body });
  const data = await bodyOf(call);
  print({ ...options, next: ['crews', 'status', crew, data.kickoff_id] }, data, () => data.kickoff_id);
}

/** `postback crews status` */
export async function showExecution(crew: string, kickoff_id: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client('crew_org');
  const data = await bodyOf(
    client.GET('/crews/{crew}/{kickoff_id}/status', { params: { path: { crew, kickoff_id } } }),
  );
  const waits = data.status === 'pending_human_input';
  const next = waits
    ? ['crews', 'approve', kickoff_id]
    : data.status === 'running' && ['crews', 'status', crew, kickoff_id];
  print({ ...options, next }, data, () => {
    const { status, error, deadline = null, progress, tasks, result } = data;
    const rows = tasks.map((task) => ({
      task: task.name,
      agent: task.agent,
      status: paintState(CREW_TASK_STATUS_TABLE, task.status),
      attempts: task.attempts,
      decision: task.decision && decisionInWords(task.decision),
    }));
    const details = {
      execution: kickoff_id,
      status: paintState(EXECUTION_STATUS_TABLE, status),
      progress: `${progress.completed_tasks} of ${progress.total_tasks} tasks`,
      error,
      deadline: localTime(deadline),
    };
    const waiting = tasks.find((task) => task.status === 'pending_human_input')?.output;
    const output = waiting ?? result;
    return [fields(details), table(rows), output].filter(Boolean).join('\n\n');
  });
}

/** `postback crews executions` */
export async function listExecutions(
  crew: string,
  { limit, ...options }: ServerOptions & { limit: number },
): Promise<void> {
  const client = findServer(options).client('crew_org');
  const page = (cursor?: string) =>
    bodyOf(client.GET('/crews/{crew}/executions', { params: { path: { crew }, query: { cursor } } }));
  const executions = await listOf('executions', page, limit);
  const rows = executions.map(({ execution_id, status, current_task, created_at }) => ({
    execution: execution_id,
    status: paintState(EXECUTION_STATUS_TABLE, status),
    task: current_task,
    created: localTime(created_at),
  }));
  const [newest] = executions;
  const next = newest && ['crews', 'status', crew, newest.execution_id];
  print({ ...options, next }, { executions }, () => table(rows));
}

/** `postback crews waiting`: prints the outputs that wait for a person. */
export async function listWaiting(options: ServerOptions): Promise<void> {
  const waiting = await listOf('waiting', pagesOfWaiting(findServer(options).client('crew_org')));
  const [first] = waiting;
  print({ ...options, next: first && ['crews', 'approve', first.execution_id] }, { waiting }, () => {
    const shown = waiting.map(({ crew, execution_id, task_id, agent, output, waiting_since, deadline, review_url }) => {
      const since = localTime(waiting_since ?? null);
      return `${fields({ crew, execution: execution_id, task: task_id, agent, since, deadline: localTime(deadline ?? null), review: review_url ?? null })}\n\n${output}`;
    });
    return shown.join('\n\n') || 'Nothing waits.';
  });
}

interface ResponseOptions extends ServerOptions {
  feedback?: string;
  /** False for no receiver. */
  webhook?: string | false;
}

/** `postback crews approve`: approves the output of an execution that waits. */
export const approve = (execution_id: string, options: ResponseOptions) => respond(execution_id, true, options);

/** `postback crews reject` */
export const reject = (execution_id: string, options: ResponseOptions) => respond(execution_id, false, options);

async function respond(
  execution_id: string,
  is_approve: boolean,
  { feedback, webhook, ...options }: ResponseOptions,
): Promise<void> {
  const client = findServer(options).client('crew_org');
  const output = await findWaiting(client, execution_id);
  const urls = callbacksAfter(output, webhook);
  const { task_id, attempt } = output;
  const body = { execution_id, task_id, attempt, is_approve, human_feedback: feedback ?? 'Approved.', ...urls };
  const data = await bodyOf(client.POST('/crews/{crew}/resume', { params: { path: { crew: output.crew } }, body }));
  const receivers = [...new Set(Object.values(urls).filter((url) => url !== undefined))];
  const goOn = receivers.length > 0 && `Callbacks go on to ${receivers.join(', ')}.`;
  const next = ['crews', 'status', output.crew, execution_id];
  print({ ...options, next }, data, () => [data.message, goOn, data.warning].filter(Boolean).join('\n'));
}

/** @param webhook a receiver of all events, false for none; by default the receivers stay */
function callbacksAfter(output: Schemas['WaitingOutput'], webhook: string | false | undefined) {
  if (webhook === false) return {};
  if (webhook) return { taskWebhookUrl: webhook, stepWebhookUrl: webhook, crewWebhookUrl: webhook };
  const { taskWebhookUrl, stepWebhookUrl, crewWebhookUrl } = output;
  return { taskWebhookUrl, stepWebhookUrl, crewWebhookUrl };
}

/** `postback crews cancel` */
export async function cancelExecution(crew: string, kickoff_id: string, options: ServerOptions): Promise<void> {
  const client = findServer(options).client('crew_org');
  const data = await bodyOf(
    client.POST('/crews/{crew}/{kickoff_id}/cancel', { params: { path: { crew, kickoff_id } } }),
  );
  print({ ...options, next: ['crews', 'status', crew, kickoff_id] }, data, () => data.message);
}

const decisionInWords = ({ attempt, is_approve, decided_by }: Schemas['CrewDecision']) =>
  `attempt ${attempt} ${is_approve ? 'approved' : 'rejected'} ${deciderInWords(decided_by)}`;

const pagesOfWaiting = (client: Postback) => (cursor?: string) =>
  bodyOf(client.GET('/crews/waiting', { params: { query: { cursor } } }));

async function findWaiting(client: Postback, executionId: string): Promise<Schemas['WaitingOutput']> {
  for await (const output of everyEntry('waiting', pagesOfWaiting(client))) {
    if (output.execution_id === executionId) return output;
  }
  throw new Error(`The execution ${executionId} is not waiting for a person: see \`postback crews waiting\`.`);
}
