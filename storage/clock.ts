import type { MongoClient } from 'mongodb';

/** @returns the time of the database */
export type DatabaseClock = () => Date;

/** Heartbeats of a primary that are compared: those of the last minute. */
const COMPARED = 6;
/** A clock that is further back was set. It is followed at once. */
const SET_BACK_MS = 10_000;

/**
 * Follows the clock of the database by the driver's heartbeats, which costs no command. For claims and due times: a process
 * compares those that another has written, and the clocks of two machines may differ by minutes. Between two heartbeats (10 s)
 * it counts on without the clock of this machine, which may be set at any time. A busy process reads a heartbeat late, and would
 * be behind the others until the next one: of several heartbeats, the one that was read soonest counts, and the time never
 * goes back, because times order what a process writes.
 * @param client not connected yet; its first heartbeat comes before its first command
 */
export function followDatabaseClock(client: MongoClient): DatabaseClock {
  /** By how much the clock of the database is ahead of that of this process, at most, as each heartbeat shows it. */
  let ahead: number[] = [];
  let latest = 0;
  let primary: string | undefined;
  client.on('serverHeartbeatSucceeded', ({ reply }) => {
    const writable = reply.isWritablePrimary ?? reply.ismaster;
    if (!writable || !(reply.localTime instanceof Date)) return;
    // A new primary has another clock. All processes follow it before they write to it, and not some a minute later than others.
    if (reply.me !== primary) ahead = [];
    primary = reply.me;
    ahead = [reply.localTime.getTime() - performance.now(), ...ahead].slice(0, COMPARED);
  });
  return () => {
    if (ahead.length === 0) return new Date();
    const time = performance.now() + Math.max(...ahead);
    if (time > latest || time < latest - SET_BACK_MS) latest = time;
    return new Date(latest);
  };
}
