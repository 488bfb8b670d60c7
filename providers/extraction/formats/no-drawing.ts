/**
 * Loaded before pdfjs, which makes a matrix for drawing when it is loaded. Text is not drawn, and the native package that has
 * matrices cannot be loaded in the process that reads text.
 */
(globalThis as { DOMMatrix?: unknown }).DOMMatrix ??= class {};
