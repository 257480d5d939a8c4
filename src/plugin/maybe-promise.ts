/** A value now or later: code that stays synchronous where it can awaits only what is thenable. */
export type MaybePromise<T> = T | Promise<T>;

/** True for a promise, also one of another realm or library. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Calls `next` at once, or when the promise resolves. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value);
}
