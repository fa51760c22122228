/** One entry of a log as its readers get it. Made once; every reader of this process shares the same object. */
export type LogEntry = {
  /** Its place in the log: 1, 2, 3, without a gap. */
  readonly sequence: number;
  /** The whole entry as JSON text. */
  readonly json: string;
};

export type LogRow = { readonly organization_id: string; readonly project_id: string; readonly sequence: number };

/** What readers of one kind of log need to know about it. */
export interface LogKind<Row extends LogRow, E extends LogEntry> {
  /** The log that a row belongs to. */
  idOf(row: Row): string;
  /** What counts against the size of a page. */
  bytesOf(row: Row): number;
  /** Makes entries out of an organization's rows. One that throws has met changed data or a missing key. */
  openerOf(organizationId: string): ((row: Row) => E) | Promise<(row: Row) => E>;
  /** Whether streams end after this entry. */
  ends(entry: E): boolean;
}
