import { createInterface } from 'node:readline/promises';
import { bodyOf } from '../../client/index.js';
import { readConfig } from '../../runtime/config.js';
import { openDemoInstance } from './instance.js';
import { showContent, showCrew, showJob, startContent, startCrew, startJob } from './parts.js';
import { startDemoReceiver } from './receiver.js';
import { printHeading, printLink } from './screen.js';

/**
 * `npm run demo`: files are indexed and queried, an AI job reads a picture, and a crew waits for a person, each with verified
 * callbacks. Uses the instance that runs in this folder, or starts a temporary one. The three run at the same time and are
 * shown one after the other.
 */
export async function demo(): Promise<void> {
  const instance = await openDemoInstance(readConfig(process.env));
  const receiver = await startDemoReceiver();
  const { content, crews } = instance;
  try {
    const [database, job, execution] = await Promise.all([
      startContent(content, receiver),
      startJob(content, receiver),
      startCrew(crews, receiver),
    ]);
    await showContent(content, receiver, database);
    await showJob(content, receiver, job);
    await showCrew(crews, receiver, execution);
    if (receiver.rejected > 0) throw new Error(`${receiver.rejected} callbacks with a wrong signature`);
    if (instance.temporalUiUrl) showLinks(instance.temporalUiUrl, database);
    await bodyOf(content.DELETE('/webhooks/indexing'));
    if (instance.isTemporary && process.stdin.isTTY) await waitForEnter();
  } finally {
    await receiver.close();
    await instance.stop();
  }
}

function showLinks(temporalUiUrl: string, database: string): void {
  printHeading('The same in the Temporal UI');
  const workflows = (query: string) =>
    `${temporalUiUrl}/namespaces/default/workflows?query=${encodeURIComponent(query)}`;
  printLink('items', workflows(`PostbackDatabase="${database}"`));
  printLink('job, crew', workflows('PostbackOrganisation="demo"'));
}

/** Keeps a temporary instance until the user has looked at its links. */
async function waitForEnter(): Promise<void> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  await prompt.question('\n  The links work until you press Enter. ').finally(() => prompt.close());
}
