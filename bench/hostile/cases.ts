import type { HostileCase } from './case.js';
import { CONNECTION_CASES } from './connections.js';
import { FIELD_CASES } from './fields.js';
import { REQUEST_CASES } from './requests.js';

export const HOSTILE_CASES: readonly HostileCase[] = [...FIELD_CASES, ...REQUEST_CASES, ...CONNECTION_CASES];
