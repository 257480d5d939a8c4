/**
 * The audit log in Redis: a stream, trimmed at its old end. Records written while the server is away are kept for a
 * while and stored when it is back, each once.
 */

import type { Logger } from "../../plugin/host.ts";
import type { Clock } from "../../plugin/index.ts";
import type { AuditFilter, AuditRecord, AuditStore } from "../../plugin/store.ts";
import { AUDIT_RECORDS_MAX } from "../../plugin/store.ts";
import type { RedisLink } from "./link.ts";
import { Outbox } from "./outbox.ts";
import { asked, script } from "./script.ts";

/** Records kept while the server is away. */
const WAITING_MAX = 1000;
const RECORDS_PER_CALL = 100;
/** Records that one script call reads: a query goes through all records in such pages. */
const SCANNED_PER_CALL = 1000;
const RETRY_MS = 1000;

/**
 * `{records: [[id, event, project, record]], again}`: stores them; `again`: but those already there. One sent a second
 * time comes soon after the first, so only the newest are checked.
 */
const APPEND = script(`
local stream = prefix .. ':audit'
local stored = {}
for _, entry in ipairs(ask.again and redis.call('XREVRANGE', stream, '+', '-', 'COUNT', ${WAITING_MAX}) or {}) do
  stored[entry[2][2]] = true
end
for _, record in ipairs(ask.records) do
  if not stored[record[1]] then
    redis.call('XADD', stream, 'MAXLEN', '~', ${AUDIT_RECORDS_MAX}, '*',
      'id', record[1], 'event', record[2], 'project', record[3], 'record', record[4])
  end
end
return 1
`);

/**
 * `{from, before?, event?, project?, limit}`: looks back from the stream's id `from`. Answers where to go on ("" at the
 * end), whether `before` was passed, and the records found.
 */
const QUERY = script(`
local from, reached, found, last = ask.from, not ask.before, {}, nil
local entries = redis.call('XREVRANGE', prefix .. ':audit', from, '-', 'COUNT', ${SCANNED_PER_CALL})
for _, entry in ipairs(entries) do
  local fields = entry[2]
  if #found < ask.limit and reached and (not ask.event or fields[4] == ask.event)
    and (not ask.project or fields[6] == ask.project) then
    table.insert(found, fields[8])
  end
  reached = reached or fields[2] == ask.before
  last = entry[1]
end
return { #entries < ${SCANNED_PER_CALL} and '' or '(' .. last, reached and 1 or 0, found }
`);

export const AUDIT_SCRIPTS = [APPEND, QUERY];

export class RedisAudit implements AuditStore {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting = new Outbox<AuditRecord>(WAITING_MAX);
  #retrying = false;
  /** A batch was lost, and may have been stored nevertheless. */
  #again = false;

  constructor(link: RedisLink, clock: Clock, log: Logger) {
    this.#link = link;
    this.#clock = clock;
    this.#log = log;
    link.onChange(
      () => void this.send(),
      () => {},
    );
  }

  /** Answers when they are stored, or when they wait for a lost server. */
  async append(records: readonly AuditRecord[]): Promise<void> {
    for (const record of records) {
      if (this.#waiting.push(record)) continue;
      await this.send();
      if (this.#waiting.push(record)) continue;
      const { id, event } = record;
      this.#log.error({ id, event }, "an audit record was lost: redis is lost and too many wait for it");
    }
    await this.send();
  }

  async query(filter: AuditFilter): Promise<readonly AuditRecord[]> {
    const found: AuditRecord[] = [];
    let { before } = filter;
    for (let from = "+"; from !== "" && found.length < filter.limit; ) {
      const limit = filter.limit - found.length;
      const ask = { from, before, event: filter.event, project: filter.projectUuid, limit };
      const reply = await this.#link.run(QUERY, asked(ask));
      if (!Array.isArray(reply)) break;
      const [next, reached, texts] = reply;
      // As `append` was given them: only this store writes under its prefix.
      for (const text of Array.isArray(texts) ? texts : [])
        found.push(JSON.parse(String(text)) as AuditRecord);
      if (reached === 1) before = undefined;
      from = String(next);
    }
    return found;
  }

  /** Sends what waits, as long as the server answers. */
  async send(): Promise<void> {
    const sent: Promise<void>[] = [];
    while (this.#link.up && this.#waiting.unsent > 0) {
      const batch = this.#waiting.take(RECORDS_PER_CALL);
      const records = batch.map((record) => [
        record.id,
        record.event,
        record.project.uuid,
        JSON.stringify(record),
      ]);
      sent.push(
        this.#link.run(APPEND, asked({ records, again: this.#again })).then((reply) => {
          if (reply === 1) {
            this.#waiting.answered(batch);
            this.#again &&= this.#waiting.size > 0;
            return;
          }
          this.#waiting.lost(batch);
          this.#again = true;
          this.#retryLater();
        }),
      );
    }
    await Promise.all(sent);
  }

  #retryLater(): void {
    if (this.#retrying || !this.#link.up) return;
    this.#retrying = true;
    this.#clock.after(RETRY_MS, () => {
      this.#retrying = false;
      void this.send();
    });
  }
}
