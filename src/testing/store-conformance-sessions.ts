/** What every store promises of conversations. */
import assert from "node:assert/strict";
import { SESSION_WAITERS_MAX } from "../plugin/store.ts";
import { type On, opened, stored, TTL_MS, turn } from "./store-conformance-kit.ts";

const NO_ID = "11111111-2222-4333-8444-555555555555";

/** Registers them. */
export function conversationPromises(on: On): void {
  sessionPromises(on);
  historyPromises(on);
  sessionOwnerPromises(on);
  sessionOfIdPromises(on);
  waitingPromises(on);
  goneWhileHeldPromises(on);
}

function historyPromises(on: On): void {
  on("a turn may trim the beginning, change what it keeps, or begin anew", async (store) => {
    const histories = [
      [...turn("1"), ...turn("2")],
      [...turn("2"), ...turn("3")],
      [...turn("2"), ...turn("changed")],
      turn("anew"),
      [],
      turn("after nothing"),
    ];
    const session = await opened(store);
    session.close();
    let id: string | undefined;
    for (const history of histories) {
      const next = await opened(store, id);
      // As callers do it: what stays is handed back as it was read.
      const kept = next.history.filter((message) => history.some((one) => one.content === message.content));
      await next.save([...kept, ...history.slice(kept.length)]);
      next.close();
      id = next.id;
      const again = await opened(store, id);
      assert.deepEqual(again.history, [...kept, ...history.slice(kept.length)]);
      again.close();
    }
  });

  on("messages of parts, and those that ask for tools, come back as they were saved", async (store) => {
    const history = [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image", url: "https://example.org/a.png" },
        ],
      },
      { role: "assistant", content: "", toolCalls: [{ id: "t-1", name: "look", arguments: '{"at":"ü"}' }] },
      { role: "tool", content: "a boat", toolCallId: "t-1" },
    ] as const;
    const id = await stored(store, history);
    assert.deepEqual((await opened(store, id)).history, history);
  });
}

function sessionOfIdPromises(on: On): void {
  on("whose a conversation is can be asked by its id, as long as it is there", async (store, clock) => {
    const id = await stored(store, turn("1"));
    const owner = await store.sessions.ownerOf(id);
    assert.ok(owner !== undefined);
    assert.equal((await store.sessions.historyCharacters(owner, id)) > 0, true);
    assert.equal(await store.sessions.ownerOf(NO_ID), undefined);
    clock.advance(TTL_MS + 1);
    assert.equal(await store.sessions.ownerOf(id), undefined);
    const other = await stored(store, turn("2"));
    assert.equal(await store.sessions.delete(owner, other), true);
    assert.equal(await store.sessions.ownerOf(other), undefined);
  });
}

function sessionPromises(on: On): void {
  on("a conversation that was saved is resumed by its id, by its owner alone", async (store) => {
    const id = await stored(store, turn("hello"));
    const again = await opened(store, id);
    assert.deepEqual(again.history, turn("hello"));
    assert.equal(again.id, id);
    again.close();
    assert.equal(await store.sessions.open("chat/stranger", id, TTL_MS), "missing");
    assert.equal(await store.sessions.open("other-plugin/owner", id, TTL_MS), "missing");
    assert.equal(await store.sessions.open("chat/owner", NO_ID, TTL_MS), "missing");
  });

  on("a new conversation is empty and has an id of its own", async (store) => {
    const [first, second] = [await opened(store), await opened(store)];
    assert.deepEqual(first.history, []);
    assert.match(first.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.notEqual(first.id, second.id);
  });

  on("a new conversation that was never saved is gone when it is closed", async (store) => {
    const session = await opened(store);
    session.close();
    assert.equal(await store.sessions.open("chat/owner", session.id, TTL_MS), "missing");
  });

  on("what was not saved leaves the conversation as it was", async (store) => {
    const id = await stored(store, turn("kept"));
    (await opened(store, id)).close();
    const session = await opened(store, id);
    assert.deepEqual(session.history, turn("kept"));
  });

  on("a conversation lives through its idle time and not longer", async (store, clock) => {
    const id = await stored(store, turn("a"));
    clock.advance(TTL_MS);
    (await opened(store, id)).close();
    clock.advance(TTL_MS + 1);
    assert.equal(await store.sessions.open("chat/owner", id, TTL_MS), "missing");
    assert.equal(await store.sessions.historyCharacters("chat/owner", id), 0);
  });

  on("opening and saving renew the idle time", async (store, clock) => {
    const id = await stored(store, turn("a"));
    clock.advance(TTL_MS - 1);
    const session = await opened(store, id);
    clock.advance(TTL_MS - 1);
    await session.save(turn("b"));
    session.close();
    clock.advance(TTL_MS);
    assert.deepEqual((await opened(store, id)).history, turn("b"));
  });

  on("saving twice, or after closing, is a bug", async (store) => {
    const session = await opened(store);
    await session.save(turn("a"));
    await assert.rejects(async () => session.save(turn("b")));
    session.close();
    const closed = await opened(store, session.id);
    closed.close();
    await assert.rejects(async () => closed.save(turn("c")));
    assert.deepEqual((await opened(store, session.id)).history, turn("a"));
  });
}

function sessionOwnerPromises(on: On): void {
  on("the characters of a conversation are known without opening it, to its owner", async (store) => {
    const id = await stored(store, turn("12345"));
    const held = await opened(store, id);
    assert.equal(await store.sessions.historyCharacters("chat/owner", id), 5 + "answer".length);
    assert.equal(await store.sessions.historyCharacters("chat/stranger", id), 0);
    assert.equal(await store.sessions.historyCharacters("chat/owner", NO_ID), 0);
    held.close();
  });

  on("a deleted conversation is gone, and only its owner can delete it", async (store) => {
    const id = await stored(store, turn("a"));
    assert.equal(await store.sessions.delete("chat/stranger", id), false);
    assert.equal(await store.sessions.delete("chat/owner", id), true);
    assert.equal(await store.sessions.delete("chat/owner", id), false);
    assert.equal(await store.sessions.open("chat/owner", id, TTL_MS), "missing");
  });
}

function waitingPromises(on: On): void {
  on("a second call waits for the first and sees what it saved", async (store) => {
    const first = await opened(store);
    const second = opened(store, first.id);
    await first.save(turn("first"));
    first.close();
    assert.deepEqual((await second).history, turn("first"));
  });

  on("calls on one conversation have it one after the other, in the order they came", async (store) => {
    const id = await stored(store, turn("start"));
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 5 }, async (_, call) => {
        const session = await opened(store, id);
        order.push(call);
        await session.save([...session.history, ...turn(`${call}`)]);
        session.close();
      }),
    );
    assert.deepEqual(order, [0, 1, 2, 3, 4]);
    const { history } = await opened(store, id);
    assert.deepEqual(history, [turn("start"), ...order.map((call) => turn(`${call}`))].flat());
  });

  on("closing twice lets one call go on, not two", async (store) => {
    const first = await opened(store, await stored(store, turn("a")));
    const second = opened(store, first.id);
    const third = opened(store, first.id);
    first.close();
    first.close();
    const holder = await second;
    let thirdHasIt = false;
    const seen = third.then((session) => {
      thirdHasIt = true;
      return session;
    });
    // Time enough for the third, had it been admitted.
    for (let turns = 0; turns < 10; turns += 1) await store.health();
    assert.equal(thirdHasIt, false);
    holder.close();
    (await seen).close();
  });

  on(
    "a limited number of calls may wait, the next finds it busy, and a place is free again later",
    async (store) => {
      const first = await opened(store, await stored(store, turn("a")));
      const waiting = Array.from({ length: SESSION_WAITERS_MAX }, () => opened(store, first.id));
      assert.equal(await store.sessions.open("chat/owner", first.id, TTL_MS), "busy");
      first.close();
      const [next, ...others] = waiting;
      const holder = await next;
      const late = opened(store, first.id);
      holder?.close();
      for (const one of [...others, late]) (await one).close();
    },
  );
}

function goneWhileHeldPromises(on: On): void {
  on(
    "a conversation that expired while it was held is missing for those who waited",
    async (store, clock) => {
      const first = await opened(store, await stored(store, turn("a")));
      const second = store.sessions.open("chat/owner", first.id, TTL_MS);
      clock.advance(TTL_MS + 1);
      first.close();
      assert.equal(await second, "missing");
    },
  );

  on("a call that holds a conversation past its idle time can still save it", async (store, clock) => {
    const session = await opened(store, await stored(store, turn("a")));
    clock.advance(TTL_MS * 2);
    await session.save(turn("b"));
    session.close();
    assert.deepEqual((await opened(store, session.id)).history, turn("b"));
  });

  on("a conversation does not expire while it is held", async (store, clock) => {
    const first = await opened(store, await stored(store, turn("a")));
    clock.advance(TTL_MS + 1);
    const second = opened(store, first.id);
    await first.save(turn("b"));
    first.close();
    assert.deepEqual((await second).history, turn("b"));
  });

  on("a conversation that was deleted while it was held does not come back", async (store) => {
    const first = await opened(store, await stored(store, turn("a")));
    const second = store.sessions.open("chat/owner", first.id, TTL_MS);
    assert.equal(await store.sessions.delete("chat/owner", first.id), true);
    await first.save(turn("b"));
    first.close();
    assert.equal(await second, "missing");
    assert.equal(await store.sessions.open("chat/owner", first.id, TTL_MS), "missing");
  });

  on("who waits for a new conversation finds it missing when it was not saved", async (store) => {
    const first = await opened(store);
    const second = store.sessions.open("chat/owner", first.id, TTL_MS);
    first.close();
    assert.equal(await second, "missing");
  });
}
