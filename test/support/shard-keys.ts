/** How the documents of a collection are found on a sharded cluster, as the table in docs/scaling.md states it. */
export interface ShardKey {
  /** Null for a collection that is not sharded. */
  key: string | null;
  /** Whether the key is the organisation, so that a transaction of the organisation stays on one shard. */
  organisation: boolean;
}

const keyed = (key: string | null, organisation: boolean, names: string): [string, ShardKey][] =>
  names.split(' ').map((name) => [name, { key, organisation }]);

export const SHARD_KEYS: Readonly<Record<string, ShardKey>> = Object.fromEntries([
  ...keyed(
    'org',
    true,
    'ai_job_results ai_jobs authentications checkpoints connector_resources connectors crew_executions crew_feedback crew_steps databases deliveries delivery_replays eligibility_data feedback feedback_tallies idempotency_keys items quota_gates removed_items signing_keys unclaimed_files uploads',
  ),
  ...keyed('_id', true, 'crew_signing_secrets organisations payment_signing_secrets registrations'),
  ...keyed('database_id', false, 'chunks entities relations'),
  ...keyed('files_id', false, 'files.chunks'),
  ...keyed('_id', false, 'model_tokens rate_limits'),
  ...keyed(null, false, 'api_keys backups compaction_leases files.files index_rebuilds process_ends processes sweeps'),
]);
