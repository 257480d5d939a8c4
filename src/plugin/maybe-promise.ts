/**
 * A value now or later: code that stays synchronous where it can awaits only what is thenable.
 * @since 0.1.0
 */
export type MaybePromise<T> = T | Promise<T>;

/** True for a promise, also one of another realm or library. @since 0.1.0 */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Calls `next` at once, or when the promise resolves. @since 0.1.0 */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value);
}
