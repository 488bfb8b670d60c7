import type { Condition } from 'mongodb';

/** @returns the filter for the records of an organisation, in collections whose records of earlier releases do not name it */
export type RecordsOf = (org: string) => { org: Condition<string> };

/** When the migration that names the organisation in all of them is done. */
export const namedRecords: RecordsOf = (org) => ({ org });

/** Before that: processes of an earlier release may still run and write such records. The ids keep organisations apart. */
export const namedOrOldRecords: RecordsOf = (org) => ({ org: { $in: [org, null as unknown as string] } });
