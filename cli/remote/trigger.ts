import { bodyOf } from '../../client/index.js';
import { print } from './output.js';
import { findServer, type Server, type ServerOptions } from './server.js';

interface TriggerOptions extends ServerOptions {
  /** Address of the receiver; indexing webhooks go to the registered one. */
  to?: string;
  crew?: string;
}

export const TRIGGERS = ['indexing', 'job', 'crew', 'authentication'] as const;
type Trigger = (typeof TRIGGERS)[number];

/** What `postback trigger` started, and where its callback can be looked up. */
type Triggered = Record<string, unknown> & { message: string };

/**
 * `postback trigger`: makes the service send a callback of a kind, by real work where that is needed. The exit code is 1
 * when a test webhook was not delivered.
 */
export async function trigger(kind: Trigger, options: TriggerOptions): Promise<void> {
  const server = findServer(options);
  const started = await {
    indexing: () => triggerIndexing(server),
    job: () => triggerJob(server, receiverOf(options)),
    crew: () => triggerCrew(server, receiverOf(options), options.crew),
    authentication: () => triggerAuthentication(server, receiverOf(options)),
  }[kind]();
  print({ ...options, next: ['deliveries', 'list', '--limit', '5'] }, started, () => started.message);
  if (started.delivered === false) process.exitCode = 1;
}

function receiverOf({ to }: TriggerOptions): string {
  if (to === undefined) throw new Error('Name the receiver with --to <url>.');
  return to;
}

async function triggerIndexing(server: Server): Promise<Triggered> {
  return (await bodyOf(server.client().POST('/webhooks/indexing/test'))).data;
}

async function triggerJob(server: Server, webhook_receiver: string): Promise<Triggered> {
  const input = { text: 'A callback that was asked for on the command line.' };
  const body = { model: 'text/language_detection/eld', input, webhook_receiver };
  const { job_id } = await bodyOf(server.client().POST('/v3/ai/async', { body }));
  return { job_id, message: `Job ${job_id}: its result goes to ${webhook_receiver}.` };
}

async function triggerCrew(server: Server, url: string, wanted: string | undefined): Promise<Triggered> {
  const client = server.client('crew_org');
  const { crews } = await bodyOf(client.GET('/crews'));
  const chosen = crews.find(({ name }) => wanted === undefined || name === wanted);
  if (!chosen) throw new Error(wanted === undefined ? 'There are no crews.' : `There is no crew "${wanted}".`);
  const inputs = Object.fromEntries(chosen.inputs.map((name) => [name, `a test of ${name}`]));
  const { kickoff_id } = await bodyOf(
    client.POST('/crews/{crew}/kickoff', {
      params: { path: { crew: chosen.name } },
      body: { inputs, taskWebhookUrl: url, stepWebhookUrl: url, crewWebhookUrl: url },
    }),
  );
  return {
    kickoff_id,
    crew: chosen.name,
    message: `Execution ${kickoff_id} of ${chosen.name}: its events go to ${url}.`,
  };
}

async function triggerAuthentication(server: Server, webhook_url: string): Promise<Triggered> {
  const client = server.client('payment_secret');
  const body = { amount: 100, currency: 'EUR', webhook_url } as const;
  const { authentication_id: id, webhook_signing_secret: secret } = await bodyOf(
    client.POST('/authentication', { body }),
  );
  await bodyOf(client.POST('/authentication/{id}/close', { params: { path: { id } } }));
  const message = `Authentication ${id}: its end is reported to ${webhook_url}.`;
  if (secret === undefined) return { authentication_id: id, message };
  // The first authentication with a receiver generates it. No other response has it.
  return {
    authentication_id: id,
    webhook_signing_secret: secret,
    message: `${message}\nThe signing secret of your payments, which is shown only now: ${secret}`,
  };
}
