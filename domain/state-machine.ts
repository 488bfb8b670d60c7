/** What a state means to a person. The console and the command line choose its colour by it. */
export type Tone = 'idle' | 'busy' | 'good' | 'warn' | 'bad';

interface State {
  /** `unfinished`: another state follows without a request of the client; `final`: none does. */
  phase: 'unfinished' | 'final';
  tone: Tone;
  /** What people call the state, where its name does not say it. */
  label?: string;
}

/**
 * The states of a record, in order. Lists, types, filters, indexes, metrics, the API document, the console and the command
 * line derive from the table. `Traits` are those that only this table has; each state declares them.
 */
export type StateTable<Traits = unknown> = Readonly<Record<string, State & Traits>>;

/** The states of a table. */
export type StateOf<Table extends StateTable> = keyof Table & string;

/** The states of a table that have a trait, such as `{ phase: 'final' }`. */
export type StatesWith<Table extends StateTable, Trait> = {
  [Name in StateOf<Table>]: Table[Name] extends Trait ? Name : never;
}[StateOf<Table>];

/** @returns the states of a table, in order */
export function statesOf<Table extends StateTable>(table: Table): readonly StateOf<Table>[] {
  return Object.keys(table);
}

/** @returns the states of a table that have all of the traits, in order */
export function statesWith<Table extends StateTable, const Trait extends Readonly<Record<string, unknown>>>(
  table: Table,
  trait: Trait,
): readonly StatesWith<Table, Trait>[] {
  const has = (state: StateOf<Table>): state is StatesWith<Table, Trait> => {
    const traits = new Map<string, unknown>(Object.entries(table[state]!));
    return Object.entries(trait).every(([name, value]) => traits.get(name) === value);
  };
  return statesOf(table).filter(has);
}

/** @returns whether no other state follows without a request of the client */
export function isFinalState<Table extends StateTable>(
  table: Table,
  state: StateOf<Table>,
): state is StatesWith<Table, { phase: 'final' }> {
  return table[state]!.phase === 'final';
}
