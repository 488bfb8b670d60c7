/** Bounds of one item. What goes over one of them is E2003, never cut silently. */
export interface ExtractionLimits {
  /** Pages of a PDF. */
  maxPages: number;
  /** Pages without a text layer, frames of a TIFF: those that are read by OCR. */
  maxScannedPages: number;
  /** Pixels of one image, decoded; on the page of a PDF too. */
  maxPixels: number;
  /** Entries of a zip container. */
  maxEntries: number;
  /** Bytes of all entries of a zip container, inflated. */
  maxInflatedBytes: number;
  /** Inflated bytes per stored byte of the whole container, looked at beyond the first 16 MiB. */
  maxInflationRatio: number;
  /** Characters of extracted text. */
  maxCharacters: number;
}

export const DEFAULT_LIMITS: ExtractionLimits = {
  maxPages: 2_000,
  maxScannedPages: 500,
  maxPixels: 50_000_000,
  maxEntries: 10_000,
  maxInflatedBytes: 256 * 1024 * 1024,
  maxInflationRatio: 200,
  maxCharacters: 20_000_000,
};
