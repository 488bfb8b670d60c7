import type { Migration } from './migration.js';

/**
 * The migrations, in the order in which they run. Missing indexes are created by a step of their own, after `expand`;
 * indexes that no code needs any more are dropped by a `contract` migration.
 */
export const MIGRATIONS: readonly Migration[] = [];
