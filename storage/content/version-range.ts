/** Versions of one item whose data is removed. */
export interface VersionRange {
  /** Internal key (`itm_…`). */
  item: string;
  /** Default: the first. */
  from?: number;
  upTo: number;
  /** This version is not in the range. */
  except?: number | undefined;
}

/** @returns the filter for the chunks, entities and relations of these versions */
export function versionsIn({ item, from, upTo, except }: VersionRange) {
  return {
    item,
    version: {
      ...(from === undefined ? {} : { $gte: from }),
      $lte: upTo,
      ...(except === undefined ? {} : { $ne: except }),
    },
  };
}
