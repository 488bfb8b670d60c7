/** What Postback announces, whoever receives it. Each event is delivered by the same workflow, under its own rules. */
export const CALLBACK_EVENTS = ['indexing.status_changed'] as const;
export type CallbackEvent = (typeof CALLBACK_EVENTS)[number];
