/** Remembers what was made of a name or a text that comes again with every call, such as a prompt's JSON. Bounded. */

/** At the limit the memory starts anew. */
const ENTRIES_MAX = 512;
/** A longer key is made anew each time. */
const KEY_CHARACTERS_MAX = 16_384;

export class Memory<Value> {
  readonly #kept = new Map<string, Value>();
  readonly #make: (key: string) => Value;

  constructor(make: (key: string) => Value) {
    this.#make = make;
  }

  of(key: string): Value {
    let value = this.#kept.get(key);
    if (value !== undefined) return value;
    value = this.#make(key);
    if (key.length > KEY_CHARACTERS_MAX) return value;
    if (this.#kept.size >= ENTRIES_MAX) this.#kept.clear();
    this.#kept.set(key, value);
    return value;
  }
}
