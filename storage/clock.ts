import type { MongoClient } from 'mongodb';

/** @returns the time of the database */
export type DatabaseClock = () => Date;

/**
 * Follows the clock of the database by the driver's heartbeats, which costs no command. For claims and due times: a process
 * compares those that another has written, and the clocks of two machines may differ by minutes. Between two heartbeats (10 s)
 * it counts on without the clock of this machine, which may be set at any time.
 * @param client not connected yet; its first heartbeat comes before its first command
 */
export function followDatabaseClock(client: MongoClient): DatabaseClock {
  let known: { time: number; at: number } | undefined;
  client.on('serverHeartbeatSucceeded', ({ reply }) => {
    const writable = reply.isWritablePrimary ?? reply.ismaster;
    if (writable && reply.localTime instanceof Date) known = { time: reply.localTime.getTime(), at: performance.now() };
  });
  return () => (known ? new Date(known.time + performance.now() - known.at) : new Date());
}
