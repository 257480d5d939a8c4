/**
 * A process that holds money and a conversation in Redis until it is killed: `redis-process.ts <url> <key prefix>`.
 * Says as one line of JSON what it holds. Run by a test, never for itself.
 */
import { systemClock } from "../../src/base/clock.ts";
import { spend } from "../../src/testing/store-claims.ts";
import { openStore } from "./redis-server.ts";

const [url = "", keyPrefix = ""] = process.argv.slice(2);
const store = await openStore({ url, keyPrefix, clock: systemClock() });
for (let call = 0; call < 5; call += 1) await store.admit(`call ${call}`, [spend("sum", 100, 500)]);
const session = await store.sessions.open("owner", undefined, 600_000);
if (typeof session === "string") throw new Error(session);
await session.save([{ role: "user", content: "held" }]);
console.log(JSON.stringify({ session: session.id }));
setInterval(() => {}, 60_000);
