import { ANSWER_CASES } from './answers.js';
import type { HostileCase } from './case.js';
import { CONNECTION_CASES } from './connections.js';
import { FIELD_CASES } from './fields.js';
import { FILE_CASES } from './files.js';
import { RECEIVER_CASES } from './receivers.js';
import { REQUEST_CASES } from './requests.js';
import { SITE_CASES } from './sites.js';
import { TOOL_CASES } from './tools.js';

export const HOSTILE_CASES: readonly HostileCase[] = [
  ...FIELD_CASES,
  ...REQUEST_CASES,
  ...ANSWER_CASES,
  ...CONNECTION_CASES,
  ...FILE_CASES,
  ...SITE_CASES,
  ...RECEIVER_CASES,
  ...TOOL_CASES,
];
