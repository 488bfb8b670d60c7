import { describe, expect, test } from '@jest/globals';
import { groupNumbers, isSmall } from '../../domain/content/small-items.js';
import type { FileKind } from '../../domain/extraction.js';

const text = (id: string, bytes = 20) => ({ id, source: { kind: 'text' as const }, bytes });

const file = (id: string, file_kind: FileKind, bytes = 20) => ({
  id,
  source: { kind: 'file' as const, file_kind },
  bytes,
});

describe('the small items of a request', () => {
  test('are texts, and files of text, of at most 16 KiB', () => {
    expect(isSmall(text('note', 16 * 1024))).toBe(true);
    expect(isSmall(text('long', 16 * 1024 + 1))).toBe(false);
    const small = (['text', 'markdown', 'html', 'csv', 'pdf'] as const).filter((kind) => isSmall(file('file', kind)));
    expect(small).toEqual(['text', 'markdown']);
    expect(isSmall(file('long', 'text', 16 * 1024 + 1))).toBe(false);
  });

  test('form groups of at most 64 items and 32 KiB; a single item, a PDF and a long text form none', () => {
    expect(groupNumbers([text('one')])).toEqual([undefined]);
    const mixed = [text('a'), text('long', 17_000), file('scan', 'pdf'), text('b')];
    expect(groupNumbers(mixed)).toEqual([0, undefined, undefined, 0]);
    const notes = groupNumbers(Array.from({ length: 129 }, (_, n) => text(`note-${n}`)));
    expect(notes).toEqual([...Array(64).fill(0), ...Array(64).fill(1), undefined]);
    expect(groupNumbers(Array.from({ length: 5 }, (_, n) => text(`page-${n}`, 8_000)))).toEqual([
      0,
      0,
      0,
      0,
      undefined,
    ]);
  });

  test('form groups of files alone', () => {
    const mixed = [text('a'), file('b', 'text'), text('c'), file('d', 'markdown'), file('e', 'csv')];
    expect(groupNumbers(mixed)).toEqual([0, 1, 0, 1, undefined]);
  });

  test('form groups whose ids fit in a search attribute', () => {
    const numbers = groupNumbers(Array.from({ length: 20 }, (_, n) => text(`${n}${'é'.repeat(200)}`)));
    expect(numbers.filter((number) => number === 0)).toHaveLength(4);
  });
});
