/** The SSRF guard: every way to write an address that is not public, names that lead to one, and that none is reached. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { type GuardedHttp, guardedHttp } from "../../src/net/guarded.ts";
import { addressRefusal, checkUrl, type Resolve, ssrfAllow } from "../../src/net/ssrf.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

const NOTHING = ssrfAllow([]);

/** 127.0.0.1 and its like, as URLs take them. `PORT` is the listener's. */
const LOOPBACK = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "2130706433",
  "0x7f000001",
  "0X7F.0x0.0x0.0x1",
  "0x7f.1",
  "017700000001",
  "0177.0.0.01",
  "127.0.0.1.",
  "127.0.0.0x1",
  "%31%32%37.0.0.1",
  "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
  "127\u30020\u30020\u30021",
  "127\uff0e0\uff0e0\uff0e1",
  "\u2460\u2461\u2466.0.0.1",
  "0",
  "0.0.0.0",
  "0x0",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:0001]",
  "[::127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[::ffff:0:127.0.0.1]",
];

/** Addresses as names may resolve to them, each with the word for it. */
const REFUSED: readonly (readonly [address: string, word: RegExp])[] = [
  ["10.0.0.1", /private/],
  ["172.16.0.1", /private/],
  ["172.31.255.255", /private/],
  ["192.168.1.1", /private/],
  ["169.254.169.254", /link-local/],
  ["169.254.170.2", /link-local/],
  ["100.64.0.1", /carrier-grade/],
  ["100.100.100.200", /carrier-grade/],
  ["168.63.129.16", /reserved/],
  ["192.0.0.192", /reserved/],
  ["224.0.0.1", /multicast/],
  ["239.255.255.250", /multicast/],
  ["240.0.0.1", /reserved/],
  ["255.255.255.255", /broadcast/],
  ["192.0.2.1", /reserved/],
  ["198.51.100.7", /reserved/],
  ["203.0.113.9", /reserved/],
  ["198.18.0.1", /reserved/],
  ["192.88.99.1", /reserved/],
  ["0.1.2.3", /unspecified/],
  ["127.9.9.9", /loopback/],
  ["::", /unspecified/],
  ["::1", /loopback/],
  ["fe80::1", /link-local/],
  ["fe80::1%eth0", /link-local/],
  ["::1%1", /./],
  ["fec0::1", /private/],
  ["fc00::1", /private/],
  ["fd00:ec2::254", /private/],
  ["ff02::1", /multicast/],
  ["::ffff:10.0.0.1", /\(10\.0\.0\.1\) is a private/],
  ["::ffff:169.254.169.254", /link-local/],
  ["64:ff9b::10.0.0.1", /\(10\.0\.0\.1\) is a private/],
  ["64:ff9b::a9fe:a9fe", /link-local/],
  ["64:ff9b:1::a00:1", /reserved/],
  ["::10.0.0.1", /reserved/],
  ["2002:a00:1::1", /reserved/],
  ["2002:808:808::1", /reserved/],
  ["2001:0:4136:e378:8000:63bf:3fff:fdd2", /reserved/],
  ["2001:db8::1", /reserved/],
  ["2001:2::1", /reserved/],
  ["2001:10::1", /reserved/],
  ["2001:20::1", /reserved/],
  ["3fff::1", /reserved/],
  ["5f00::1", /reserved/],
  ["100::1", /reserved/],
  ["4000::1", /reserved/],
  ["not an address", /not an address/],
];

const PUBLIC = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808"];

interface Listener {
  readonly port: number;
  readonly connections: number;
}

/** Answers every request with 200; on all addresses of this machine, where it has IPv6. */
async function listener(t: TestContext): Promise<Listener> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {});
    socket.on("data", () =>
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"),
    );
  });
  server.listen(0);
  await once(server, "listening");
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    port: address.port,
    get connections() {
      return connections;
    },
  };
}

function client(t: TestContext, allow: readonly string[] = [], resolve?: Resolve): GuardedHttp {
  const made = guardedHttp({ clock: virtualClock(), allow, ...(resolve === undefined ? {} : { resolve }) });
  t.after(() => made.close());
  return made;
}

test("no notation of a loopback address opens a socket", async (t) => {
  const target = await listener(t);
  const http = client(t);
  for (const host of LOOPBACK) {
    const outcome = await http.fetch(`http://${host}:${target.port}/`);
    assert.ok("failed" in outcome && outcome.failed === "blocked", `${host}: ${JSON.stringify(outcome)}`);
  }
  assert.equal(target.connections, 0);
});

test("no name that leads to an address that is not public opens a socket", async (t) => {
  const target = await listener(t);
  for (const [address, word] of REFUSED) {
    for (const before of [[], ["8.8.8.8"]]) {
      const addresses = [...before, address].map((one) => ({
        address: one,
        family: one.includes(":") ? 6 : 4,
      }));
      const http = client(t, [], (_name, answer) => answer(null, addresses));
      const outcome = await http.fetch(`http://metadata.example:${target.port}/`);
      assert.ok(
        "failed" in outcome && outcome.failed === "blocked",
        `${address}: ${JSON.stringify(outcome)}`,
      );
      assert.match(outcome.detail, word, address);
    }
  }
  const local = await client(t).fetch(`http://localhost:${target.port}/`);
  assert.ok("failed" in local && local.failed === "blocked");
  assert.equal(target.connections, 0);
});

test("public addresses pass, whichever way they are written", () => {
  for (const address of PUBLIC) assert.equal(addressRefusal(address, NOTHING), undefined, address);
  for (const host of [
    "8.8.8.8",
    "0x08080808",
    "134744072",
    "[2606:4700::1111]",
    "example.com",
    "example.com.",
  ]) {
    assert.ok(checkUrl(`https://${host}/`, NOTHING) instanceof URL, host);
  }
});

test("what is not an HTTP URL, or contains a password, is refused", () => {
  for (const url of [
    "",
    "nonsense",
    "//example.com/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/",
    "http://user:word@example.com/",
    "http://user@example.com/",
    "http://[fe80::1%25eth0]/",
    "http://1.2.3.4.5.6/",
    "http://256.256.256.256/",
  ]) {
    assert.equal(typeof checkUrl(url, NOTHING), "string", url);
  }
});

test("a name is resolved once, and the address that was checked is the one connected to", async (t) => {
  const target = await listener(t);
  let asked = 0;
  // A name that answers differently the second time, as rebinding attacks do.
  const http = client(t, ["127.0.0.0/8"], (_name, answer) => {
    asked++;
    answer(null, [{ address: asked === 1 ? "127.0.0.1" : "10.0.0.1", family: 4 }]);
  });
  const outcome = await http.fetch(`http://crm.example:${target.port}/`);
  assert.deepEqual("failed" in outcome ? outcome : outcome.status, 200);
  assert.equal(asked, 1);
  assert.equal(target.connections, 1);
  const second = await http.fetch(`http://crm.example:${target.port}/`);
  assert.ok("failed" in second && second.failed === "blocked");
});

test("network.allow lets blocks, addresses and names through, and nothing beside them", async (t) => {
  const target = await listener(t);
  const resolve: Resolve = (_name, answer) => answer(null, [{ address: "127.0.0.1", family: 4 }]);
  const reaches = async (allow: readonly string[], host: string): Promise<boolean> =>
    !("failed" in (await client(t, allow, resolve).fetch(`http://${host}:${target.port}/`)));
  assert.ok(await reaches(["127.0.0.0/8"], "127.0.0.1"));
  assert.ok(await reaches(["127.0.0.1"], "2130706433"));
  assert.ok(await reaches(["127.0.0.1"], "[::ffff:127.0.0.1]"));
  assert.ok(await reaches(["127.0.0.1"], "crm.example"));
  assert.ok(await reaches(["CRM.example."], "crm.example"));
  assert.ok(await reaches(["crm.example"], "CRM.EXAMPLE."));
  const before = target.connections;
  assert.ok(!(await reaches(["crm.example"], "other.example")));
  assert.ok(!(await reaches(["crm.example"], "x.crm.example")));
  assert.ok(!(await reaches(["127.0.0.2"], "127.0.0.1")));
  assert.ok(!(await reaches(["10.0.0.0/8", "nonsense"], "127.0.0.1")));
  assert.equal(target.connections, before);
});

test("an address is refused by its IPv6 forms exactly when it is refused itself", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(octet, octet, octet, octet, (a, b, c, d) => {
      const address = `${a}.${b}.${c}.${d}`;
      const refused = addressRefusal(address, NOTHING) !== undefined;
      assert.equal(addressRefusal(`::ffff:${address}`, NOTHING) !== undefined, refused);
      assert.equal(addressRefusal(`64:ff9b::${address}`, NOTHING) !== undefined, refused);
      const number = ((a * 256 + b) * 256 + c) * 256 + d;
      for (const host of [number, `0x${number.toString(16)}`, `0${number.toString(8)}`]) {
        assert.equal(typeof checkUrl(`http://${host}/`, NOTHING) === "string", refused);
      }
    }),
    { numRuns: 300 },
  );
});
