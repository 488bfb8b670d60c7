/** Who decided on an output that waited. */
export type Decider =
  | { kind: 'key'; key_id: string; label: string }
  /** Somebody with a review link. Nothing else is known about them. */
  | { kind: 'review_link' }
  /** Nobody, before the deadline. */
  | { kind: 'deadline' };

export const DECIDER_KINDS = ['key', 'review_link', 'deadline'] as const satisfies Decider['kind'][];

/** The latest decision on the outputs of a task. */
export interface TaskDecision {
  /** The attempt whose output it was. */
  attempt: number;
  is_approve: boolean;
  decided_at: Date;
  /** Absent when an earlier release stored the decision. */
  decided_by?: Decider | undefined;
}

/** A decider in a sentence: "by the key …". */
export function deciderInWords(decider: { kind: Decider['kind']; label?: string | undefined } | undefined): string {
  if (decider?.kind === 'key') return `by the key "${decider.label}"`;
  if (decider?.kind === 'review_link') return 'with a review link';
  return decider?.kind === 'deadline' ? 'at the deadline' : 'by somebody unknown';
}
