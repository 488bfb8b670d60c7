import type { Db } from 'mongodb';

/**
 * Makes MongoDB record the queries of the API and the workers that read a whole collection because no index fits. The few
 * records of processes, and lists of everything, need none.
 */
export async function recordScans(db: Db): Promise<void> {
  const small = `${db.databaseName}.processes`;
  const scan = { appName: 'postback', planSummary: 'COLLSCAN', ns: { $ne: small }, 'command.filter': { $ne: {} } };
  await db.command({ profile: 1, filter: scan });
}

/** @returns the commands of these queries */
export async function recordedScans(db: Db): Promise<string[]> {
  const recorded = await db.collection('system.profile').find().toArray();
  return recorded.map(({ ns, command }) => JSON.stringify({ ns, command }));
}
