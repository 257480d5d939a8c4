/** pii: what counts as personal data and what only looks like it; block and mask mode; streams. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import examples from "libphonenumber-js/examples.mobile.json";
import { type CountryCode, getExampleNumber } from "libphonenumber-js/min";
import pii from "../../plugins/pii/index.ts";
import { PII_KINDS, type PiiKind } from "../../plugins/pii/kinds.ts";
import { DEFAULT_REGIONS } from "../../plugins/pii/phone-regions.ts";
import { growth, judgeOf } from "./guardrail-kit.ts";

const { judge, masked } = judgeOf(pii, { mode: "mask" });
const { refusal } = judgeOf(pii, {});

/** Text before and after masking. */
const MASKED: Readonly<Record<PiiKind, Readonly<Record<string, string>>>> = {
  email: {
    "Write to ada.l+x@mail.example.org.": "Write to [EMAIL].",
    "<mailto:jürgen@müller.example>": "<mailto:[EMAIL]>",
    "(c) is what ada@example.org chose": "(c) is what [EMAIL] chose",
    "(c) 2024 ada@example.org": "(c) 2024 [EMAIL]",
    "© 2024 Acme, questions to Ada <ada@example.org>": "© 2024 Acme, questions to Ada <[EMAIL]>",
    "conduct@example.org, opensource@example.org": "[EMAIL], [EMAIL]",
    "邮箱是ada@example.org谢谢": "邮箱是[EMAIL]谢谢",
    "用户@例子.广告": "[EMAIL]",
    "a@b.co,c@d.co": "[EMAIL],[EMAIL]",
    "почта иван@пример.рф": "почта [EMAIL]",
  },
  phone: {
    "Call +44 20 7946 0018 now": "Call [PHONE] now",
    "(415) 555-0134 or 415.555.0199": "[PHONE] or [PHONE]",
    "1-415-555-0134 x22": "[PHONE]",
    "+41 (0)44 668 18 00": "[PHONE]",
    "my mobile is 612 345 678": "my mobile is [PHONE]",
    "Telefon: 030/1234567": "Telefon: [PHONE]",
    "téléphone 01 99 00 12 34": "téléphone [PHONE]",
    "06 39 98 12 34": "[PHONE]",
    "my number is 07400 123456": "my number is [PHONE]",
    '{"phoneNumber": "015123456789"}': '{"phoneNumber": "[PHONE]"}',
    '{"mobile_no":"0151 23456789"}': '{"mobile_no":"[PHONE]"}',
    "call me at 5550134 or 5550199": "call me at [PHONE] or 5550199",
    "text us on 555 0134 or 555 0199": "text us on [PHONE] or [PHONE]",
    "555 0134 office": "[PHONE] office",
    我的电话是13912345678: "我的电话是[PHONE]",
    "‪+1 415‑555‑0134": "‪[PHONE]",
  },
  credit_card: {
    "4111 1111 1111 1111": "[CREDIT_CARD]",
    "card 5555-5555-5555-4444, 12/27": "card [CREDIT_CARD], 12/27",
    "order7 4111 1111 1111 1111": "order7 [CREDIT_CARD]",
    "amex 3782 822463 10005": "amex [CREDIT_CARD]",
    "6011111111111117": "[CREDIT_CARD]",
    "４１１１１１１１１１１１１１１１": "[CREDIT_CARD]",
  },
  ssn: {
    "SSN 219-45-6789": "SSN [SSN]",
    "social security number: 219456789": "social security number: [SSN]",
  },
  iban: {
    DE89370400440532013000: "[IBAN]",
    "to GB29 NWBK 6016 1331 9268 19 today": "to [IBAN] today",
    "fr14 2004 1010 0505 0001 3m02 606": "[IBAN]",
    // La Réunion and Åland: territories whose IBANs have codes of their own.
    "RE42 2004 1010 0505 0001 3M02 606": "[IBAN]",
    "AX21 1234 5600 0007 85": "[IBAN]",
  },
  ip_address: {
    "from 203.0.113.77.": "from [IP_ADDRESS].",
    "ssh root@198.51.100.4": "ssh root@[IP_ADDRESS]",
    "my address is 192.168.1.20": "my address is [IP_ADDRESS]",
    "the log says '93.184.216.34'": "the log says '[IP_ADDRESS]'",
    "http://198.51.100.4:8080/": "http://[IP_ADDRESS]:8080/",
    "2001:db8:85a3::8a2e:370:7334": "[IP_ADDRESS]",
    "2001:db8:0:1:2:3:4:5 and fd12:3456::1": "[IP_ADDRESS] and [IP_ADDRESS]",
  },
};

for (const kind of PII_KINDS) {
  test(`${kind}: each form is masked whole, and only when the kind is asked for`, () => {
    const only = judgeOf(pii, { mode: "mask", kinds: [kind] });
    const others = judgeOf(pii, { mode: "mask", kinds: PII_KINDS.filter((other) => other !== kind) });
    for (const [text, expected] of Object.entries(MASKED[kind])) {
      assert.equal(masked(text), expected);
      assert.equal(only.masked(text), expected);
      assert.doesNotMatch(others.masked(text), new RegExp(`\\[${kind.toUpperCase()}\\]`));
    }
  });
}

test("what only looks like personal data stays as it is", () => {
  const innocent = [
    "npm i lodash@4.17.21 @scope/pack@next.1 icon@2x.png",
    "git@host.example:team/repo.git, https://name:word@host.example/",
    "4111 1111 1111 1112 and 5555555555554445",
    "DE89370400440532013001, GB29 NWBK 6016 1331 9268 18",
    "000-12-3456, 666-12-3456, 900-12-3456, 219-00-6789, 219-45-0000",
    "127.0.0.1, 0.0.0.0, 255.255.255.0, 256.1.1.1, 1.2.3.4.5, v10.20.30.40",
    "version 1.2.3.4, Chrome/120.0.0.0, 10.0.0.0/8",
    "v8@10.2.154.26-node.26, zlib@1.2.13.1",
    "parse('192.168.1.1'), `2001:db8::1`, new Client(\"203.0.113.7\"), '::ffff:10.0.0.1', http://[2001:db8::]/",
    'broadcastOf("172.0.0.1/24") == "172.0.0.255"; if (ip !== \'172.0.0.255\') stop()',
    "new Redis(6379); // 192.168.1.1:6379\nnew Redis()",
    "Copyright (c) 2014-2021 Ada Example <ada@example.org>",
    "noreply@example.org, abuse@example.org",
    "12:34:56, std::vector, a::b, 00:1a:2b:3c:4d:5e, 10:20::",
    "2024-05-17 11:34:35, 17.05.2024, 05/17/2024 09:00:27",
    "order 374 780 163, invoice 20240517001, ticket no. 123456789",
    "call me on 2024-05-17",
    "The answer is 3628800.",
    "Total calls: 1234567, called 1234567 times, call 3628800",
    "my order number is 123456789, your number is 3628800, number: 12345678",
    "we reach 10 000 000 people and 3628800 work items",
    "order 415-555-0134, model 415-555-0134, SKU: 415-555-0134",
    '{"count": 3628800, "total_calls": 1234567}',
    "total_calls: 1234567\nanswer: 3628800\n",
    "System.Memory 4.5.5.0, Newtonsoft.Json, Version=13.0.3.1, Culture=neutral",
    ".NET 6.0.36.1, Json.13.0.3.1.nupkg, upgraded from 4.5.1.2 to 4.5.2.3, Chrome/99.1.2.3",
    "4.2.192.198.in-addr.arpa",
    "Part no. 219-45-6789, P/N 219-45-6789, item #219-45-6789, AB-219-45-6789, 219-45-6789-B",
    "zip code 75534-030, PO Box 91208, 90210 1422",
    "0.1 0.2 0.3 0.4 0.5, 1 2 3 4 5 6 7 8 9 10, 1000 2000 3000",
    "pi is 3.14159265358979 and e 2.718281828459045",
    "sha 3f2a9b1c0d4e5f60718293a4b5c6d7e8, id 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11",
    "timestamps 1715945675 and 1715945675123",
  ];
  for (const text of innocent) assert.equal(masked(text), text);
});

test("addresses of a configuration or a log are masked beside those that a program compares", () => {
  for (const [text, expected] of [
    ['host = "172.0.0.255"', 'host = "[IP_ADDRESS]"'],
    ['{"ip":"172.0.0.255"}', '{"ip":"[IP_ADDRESS]"}'],
    ["from 192.168.1.1:6379", "from [IP_ADDRESS]:6379"],
    ["// 84.17.49.202:6379", "// [IP_ADDRESS]:6379"],
    ["// see 192.168.1.1:6379", "// see [IP_ADDRESS]:6379"],
  ] as const)
    assert.equal(masked(text), expected);
});

test("a national number of any region is masked where words announce it", () => {
  const missed = DEFAULT_REGIONS.filter((region) => {
    // Every region of the list has an example number.
    const number = getExampleNumber(region as CountryCode, examples)?.formatNational();
    return masked(`my number is ${number}`) !== "my number is [PHONE]";
  });
  assert.deepEqual(missed, []);
  assert.ok(DEFAULT_REGIONS.length >= 60);
});

test("words of many languages announce a telephone number", () => {
  const phrases = [
    "Meine Nummer ist 0151 23456789",
    "Ruf mich an unter 015123456789",
    "mon numéro est le 06 12 34 56 78",
    "vous pouvez me joindre au 0612345678",
    "llámame al 612345678",
    "mi número es 612 345 678",
    "chiamami al 3123456789",
    "il mio numero è 312 345 6789",
    "meu número é (11) 96123-4567",
    "bel me op 0612345678",
    "ring mig på 0701234567",
    "mit nummer er 34 41 23 45",
    "soita minulle numeroon 0412345678",
    "zadzwoń do mnie pod 512345678",
    "zavolejte mi na 601123456",
    "a számom 06 20 123 4567",
    "sunați-mă la 0712034567",
    "numaram 0501 234 56 78",
    "мой номер 8 (912) 345-67-89",
    "позвони мне по номеру 89123456789",
    "мій номер 050 123 4567",
    "ο αριθμός μου είναι 691 234 5678",
    "המספר שלי הוא 050-234-5678",
    "رقمي هو 0512345678",
    "رقم هاتفي ٠٥٠١٢٣٤٥٦٧",
    "मेरा नंबर 081234 56789 है",
    "请打给我 13123456789",
    "私の番号は090-1234-5678です",
    "제 번호는 010-2000-0000입니다",
    "เบอร์ของฉันคือ 081 234 5678",
    "số của tôi là 0912 345 678",
    "hubungi saya di 0812345678",
  ];
  assert.deepEqual(
    phrases.filter((phrase) => masked(phrase).match(/\[PHONE\]/g)?.length !== 1),
    [],
  );
});

test("regions: their national numbers are found without words, those of others only with them", () => {
  const { masked: german } = judgeOf(pii, { mode: "mask", regions: ["DE", "GB"] });
  assert.equal(german("030 12345678 or 020 7946 0018"), "[PHONE] or [PHONE]");
  assert.equal(masked("030 12345678"), "030 12345678");
  assert.equal(german("415-555-0134"), "415-555-0134");
  assert.equal(german("phone 415-555-0134, +1 415 555 0134"), "phone [PHONE], [PHONE]");
  assert.equal(
    german("2024 12345, 12 345 678, 030 12345678 times"),
    "2024 12345, 12 345 678, 030 12345678 times",
  );
  assert.equal(judgeOf(pii, { mode: "mask", regions: ["US"] }).masked("415 555 0134"), "[PHONE]");
  const [fault] = pii.validateOptions?.({ regions: ["DE", "XX"] }, { on: ["input"] }) ?? [];
  assert.deepEqual([fault?.option, fault?.message], ["regions", "XX: not a region with a numbering plan"]);
});

test("IBANs and cards are found whatever spaces and hyphens stand between their groups", () => {
  const gaps = [..."\u00a0\u1680\u2000\u2007\u2009\u200b\u202f\u205f\u2060\u3000\ufeff\t\u2011\u2013\u2212"];
  for (const gap of gaps) {
    const name = `U+${gap.charCodeAt(0).toString(16)}`;
    assert.equal(masked("4111 1111 1111 1111".replaceAll(" ", gap)), "[CREDIT_CARD]", name);
    if (gap === "\u2212") continue;
    assert.equal(masked("GB29 NWBK 6016 1331 9268 19".replaceAll(" ", gap)), "[IBAN]", name);
  }
  assert.equal(masked("GB29  NWBK  6016  1331  9268  19"), "[IBAN]");
});

test("block mode names the first kind in the specification's words", () => {
  const words: Readonly<Record<string, string>> = {
    "ada@example.org, +44 20 7946 0018": "email",
    "+44 20 7946 0018, ada@example.org": "phone number",
    "4111111111111111": "credit card",
    "219-45-6789": "SSN",
    DE89370400440532013000: "IBAN",
    "203.0.113.77": "IP address",
  };
  for (const [text, kind] of Object.entries(words)) {
    assert.equal(refusal(text), `Request blocked: ${kind} detected in input.`);
    assert.equal(
      refusal(text, { side: "output", role: "assistant" }),
      `Response blocked: ${kind} detected in output.`,
    );
  }
});

test("the reason names kinds and holds none of the text", () => {
  const verdict = judge("ada@example.org 203.0.113.77 bob@example.org");
  assert.equal(verdict?.reason, "email, ip_address");
});

test("on a stream what may still grow waits until it cannot", () => {
  const partial = { side: "output", role: "assistant", partial: true } as const;
  assert.equal(judge("call +41 44 668 18", partial), undefined);
  assert.equal(judge("write to ada@example.co", partial), undefined);
  const settled = "call +41 44 668 18 00 and ask for Ada, please";
  assert.equal(masked(settled, partial), "call [PHONE] and ask for Ada, please");
});

test("no cut of a stream shows a finding that the whole text has not, once it has settled", () => {
  const whole =
    "Hi, ada@mail.example.org here: +41 44 668 18 00, card 4111 1111 1111 1111. Thanks, and see you!";
  const expected = masked(whole);
  const masks: number[] = [];
  for (let cut = 1; cut < whole.length; cut++) {
    const sure = masked(whole.slice(0, cut), { partial: true });
    const settled = sure.slice(0, sure.lastIndexOf("]") + 1);
    assert.ok(expected.startsWith(settled), `cut at ${cut}: ${sure}`);
    masks.push(sure.match(/\[[A-Z_]+\]/g)?.length ?? 0);
  }
  assert.equal(expected, "Hi, [EMAIL] here: [PHONE], card [CREDIT_CARD]. Thanks, and see you!");
  // From each kind's settled end on, every cut has its mask.
  assert.deepEqual(masks, [...masks].sort());
  for (const [count, least] of [
    [1, 50],
    [2, 27],
    [3, 2],
  ] as const) {
    assert.ok(masks.filter((found) => found >= count).length >= least, `${count} masks: ${masks}`);
  }
});

test("edits are ascending, apart, and inside the text, whatever the text", () => {
  const piece = fc.constantFrom(
    ..."0123456789 -.()+@:/xaZé９-",
    "ada@x.org",
    "4111 1111",
    "GB29",
    "::1",
    "call ",
    "10.1.2.3",
    " 93.184.216.34 ",
    " +41 44 668 18 00 ",
    " ada@example.org ",
  );
  let replaced = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join("");
      const verdict = judge(text);
      if (verdict?.verdict !== "replace") return;
      replaced++;
      let end = 0;
      for (const edit of verdict.edits) {
        assert.ok(edit.start >= end && edit.end > edit.start && edit.end <= text.length);
        end = edit.end;
      }
    }),
    { numRuns: 500 },
  );
  assert.ok(replaced >= 100, `only ${replaced} of 500 texts were masked`);
  assert.ok(replaced <= 490, "some texts have nothing to mask");
});

test("time grows with the length of the text and no faster", () => {
  const worst = [
    "1 ",
    "1",
    "12-",
    "(",
    "+41 44 ",
    "a@",
    "@",
    "a.a@b.",
    "::",
    "1:",
    "1.1.1.1 ",
    "06 39 98 12 34 ",
  ];
  worst.push("phone 1234567 ", "GB29 ", "4111-", `${"a".repeat(70)}@${"b.".repeat(20)}`, " - ", "0x", "é@é.");
  worst.push(
    "(c) 2020 ",
    "© 2020 a@b.co ",
    "my number is 1234567 ",
    "1234567 or ",
    "(1) ",
    "call 1 ",
    "\u200b1",
    "'::ffff:",
    '"10.0.0.1',
    "x1 ",
    "v8@1.2.3.4 ",
  );
  for (const unit of worst) assert.ok(growth(unit, judge) < 6, `super-linear on ${JSON.stringify(unit)}`);
});
