/** Closes in reverse order of registration. One that fails does not keep the others open. */
export interface RunScope {
  defer(name: string, close: () => Promise<void>): void;
}
