/** The commands `postback orgs move` and `postback orgs purge`. */
import { cancelMove, moveOrganisation, purgeOrganisation } from './moves/move.js';
import { print } from './remote/output.js';

interface Options {
  org: string;
  skipIndex?: boolean;
  /** Print JSON. */
  json?: boolean;
}

interface MoveCommand extends Options {
  to: string;
  from?: string;
  address?: string;
  /** Seconds. */
  settle: number;
  /** Seconds. */
  wait: number;
  cancel?: boolean;
}

/** `postback orgs move`: moves an organisation to another cell, or cancels such a move. */
export async function move({ settle, wait, cancel, json, ...options }: MoveCommand): Promise<void> {
  const { org } = options;
  const given = { ...options, settleMs: settle * 1000, waitMs: wait * 1000 };
  if (cancel) {
    await cancelMove(given);
    print({ json, data: { org, state: 'cancelled' } }, () => `The source serves ${org} again.`);
    return;
  }
  const moved = await moveOrganisation(given, (_step, text) => console.error(text));
  const { records = {}, files = { files: 0, bytes: 0, missing: [] } } = moved ?? {};
  const count = Object.values(records).reduce((sum, each) => sum + each, 0);
  const data = { org, state: 'moved', records, files: files.files, bytes: files.bytes, missing_files: files.missing };
  print({ json, data }, () =>
    [
      moved
        ? `${org} has moved: ${count} records, ${files.files} files of ${files.bytes} bytes.`
        : `${org} is at the target.`,
      ...(files.missing.length > 0 ? [`Files that the source did not have: ${files.missing.join(', ')}.`] : []),
      'Change the proxy, and then run `postback orgs purge` at the source.',
    ].join('\n'),
  );
}

/** `postback orgs purge`: deletes what this cell has of an organisation that has moved. */
export async function purge({ org, skipIndex = false, json }: Options): Promise<void> {
  const deleted = await purgeOrganisation(org, skipIndex);
  print(
    { json, data: { org, deleted } },
    () => `${deleted} records of ${org} were deleted. Its keys still say where it is.`,
  );
}
