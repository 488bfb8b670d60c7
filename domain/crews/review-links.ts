/**
 * Review links: the address of a page that shows one output that waits, and takes the decision on it, for people without a key. The
 * token is in the fragment, which browsers send to no server, so it is in no log and no `Referer`.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a link is about. */
export interface ReviewRef {
  org: string;
  execution: string;
  /** The place of the task in the crew. */
  task: number;
  attempt: number;
}

/** The fields of an execution that its links need. */
export interface ReviewedExecution {
  _id: string;
  org: string;
  /** Signs the links; another key ends all of them. Absent in executions of earlier releases, which have none. */
  review_key?: string;
  tasks: readonly { task_id: string; attempts: number }[];
}

export const newReviewKey = (): string => randomBytes(32).toString('base64url');

/**
 * @param publicUrl the address of the API as people reach it; null: unknown
 * @returns the link for the latest output of a task; undefined when there can be none
 */
export function reviewUrl(publicUrl: string | null, execution: ReviewedExecution, taskId: string): string | undefined {
  const task = execution.tasks.findIndex(({ task_id }) => task_id === taskId);
  if (publicUrl === null || execution.review_key === undefined || task < 0) return undefined;
  const { _id, org, tasks } = execution;
  const subject = subjectOf({ org, execution: _id, task, attempt: tasks[task]!.attempts });
  const token = `${Buffer.from(subject).toString('base64url')}.${sign(subject, execution.review_key).toString('base64url')}`;
  return `${publicUrl.replace(/\/$/, '')}/review#${token}`;
}

/** Longer than any token. */
const MAX_TOKEN_LENGTH = 1_024;
const SUBJECT = /^(\d{1,4})\.(\d{1,9})\.([0-9a-f-]{36})\.(.{1,500})$/s;

/** @returns what a token claims to be about, which `isGenuine` must confirm; null for any other text */
export function readReviewToken(
  token: string,
): { ref: ReviewRef; isGenuine(execution: ReviewedExecution): boolean } | null {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  const [encoded = '', signature = ''] = token.split('.');
  const subject = Buffer.from(encoded, 'base64url').toString();
  const [, task, attempt, execution, org] = SUBJECT.exec(subject) ?? [];
  if (org === undefined) return null;
  const given = Buffer.from(signature, 'base64url');
  return {
    ref: { org, execution: execution!, task: Number(task), attempt: Number(attempt) },
    isGenuine({ review_key }) {
      if (review_key === undefined) return false;
      const expected = sign(subject, review_key);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}

/** The organisation comes last, because its name may contain anything. */
function subjectOf({ org, execution, task, attempt }: ReviewRef): string {
  return [task, attempt, execution, org].join('.');
}

function sign(subject: string, key: string): Buffer {
  return createHmac('sha256', key).update(`review ${subject}`).digest();
}
