/** The package has no types of its own. */
declare module 'bmp-js' {
  /** @returns pixels as ABGR, top row first */
  export function decode(file: Buffer): { data: Buffer; width: number; height: number };
}
