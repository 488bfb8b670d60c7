import { writeSync } from 'node:fs';
import { CHANNEL_FD } from '../../providers/isolation/channel.js';
import type { Work } from '../../providers/isolation/protocol.js';

export type Behaviour =
  | 'work'
  | 'fail'
  | 'spin'
  | 'wait for nothing'
  | 'wait for a part and then for nothing'
  | 'fill the heap'
  | 'fill native memory'
  | 'crash'
  | 'return too much'
  | 'send garbage'
  | 'announce too much'
  | 'pid';

/** What a parser may do with a hostile file. @param emit receives three parts when it works */
const work: Work<Behaviour, unknown, number> = async (behaviour, emit) => {
  switch (behaviour) {
    case 'work':
      for (const part of [1, 2, 3]) await emit(part);
      return process.env.POSTBACK_SEALING_KEY ?? 'no secret';
    case 'fail':
      throw Object.assign(new Error('not this one'), { code: 'ENOENT' });
    case 'spin':
      for (;;);
    case 'wait for nothing':
      return new Promise(() => undefined);
    case 'wait for a part and then for nothing':
      await emit(1);
      return new Promise(() => undefined);
    case 'fill the heap': {
      const all = [];
      for (;;) all.push({ one: [all.length] });
    }
    case 'fill native memory': {
      const all: Buffer[] = [];
      for (;;) all.push(Buffer.alloc(4 * 1024 * 1024, 1));
    }
    case 'crash':
      process.kill(process.pid, 'SIGSEGV');
      return new Promise(() => undefined);
    case 'return too much':
      return Buffer.alloc(2 * 1024 * 1024);
    case 'send garbage':
      writeSync(CHANNEL_FD, Buffer.from([0, 0, 0, 2, 1, 1]));
      return new Promise(() => undefined);
    case 'announce too much':
      writeSync(CHANNEL_FD, Buffer.from([255, 255, 255, 255]));
      return new Promise(() => undefined);
    case 'pid':
      return process.pid;
  }
};
export default work;
