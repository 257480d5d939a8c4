/** The kinds of personal data that guardrail `pii` knows: their names, masks, and the checksums that distinguish them from other numbers. */

export const PII_KINDS = ["email", "phone", "credit_card", "ssn", "iban", "ip_address"] as const;

/** As the config names it. */
export type PiiKind = (typeof PII_KINDS)[number];

interface KindWords {
  /** In `Request blocked: <kind> detected in input.` */
  readonly label: string;
  /** Its replacement in mask mode. */
  readonly mask: string;
  /** Longest match, in code units. */
  readonly charactersMax: number;
}

export const KIND_WORDS: Readonly<Record<PiiKind, KindWords>> = {
  email: { label: "email", mask: "[EMAIL]", charactersMax: 254 },
  phone: { label: "phone number", mask: "[PHONE]", charactersMax: 58 },
  credit_card: { label: "credit card", mask: "[CREDIT_CARD]", charactersMax: 24 },
  ssn: { label: "SSN", mask: "[SSN]", charactersMax: 12 },
  iban: { label: "IBAN", mask: "[IBAN]", charactersMax: 50 },
  ip_address: { label: "IP address", mask: "[IP_ADDRESS]", charactersMax: 45 },
};

/** A card number: 12 to 19 digits, a known issuer's beginning and length, and the Luhn checksum. */
export function isCardNumber(digits: string): boolean {
  return ISSUERS.test(digits) && luhnHolds(digits);
}

/** Beginnings and lengths: Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Maestro. */
const ISSUERS = new RegExp(
  `^(?:${[
    "4\\d{12}(?:\\d{3}){0,2}",
    "(?:5[1-5]|2(?:2[3-9]|[3-6]\\d|22[1-9]|7[01]|720))\\d*(?<=^\\d{16})",
    "3[47]\\d{13}",
    "3(?:0[0-5]|095|[689]\\d)\\d*(?<=^\\d{14}|^\\d{16})",
    "(?:6011|64[4-9]|65)\\d*(?<=^\\d{16,19})",
    "(?:2131|1800)\\d{11}|35\\d{14}",
    "62\\d{14,17}",
    "(?:50|5[6-9]|6[0379]|67)\\d{10,17}",
  ].join("|")})$`,
);

function luhnHolds(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const doubled = digit * 2;
    sum += i % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** A social security number that can have been given out: no 000, 666 or 9xx area, no 00 group, no 0000 serial. */
export function isSocialSecurityNumber(digits: string): boolean {
  return /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits);
}

/**
 * Length of an IBAN by country, country and length in turn: the SWIFT IBAN registry, the territories that it gives their
 * own codes (of FI, FR and GB), and the countries whose banks issue IBANs without being registered.
 */
const IBAN_LENGTHS = new Map(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 " +
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 " +
    "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 " +
    "PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30 " +
    "AX18 GF27 GG22 GP27 IM22 JE22 BL27 MF27 MQ27 NC27 PF27 PM27 RE27 TF27 WF27 YT27 " +
    "AO25 BF28 BJ28 CF27 CG27 CI28 CM27 CV25 DZ26 GA27 GQ27 GW25 IR26 KM27 MA28 MG27 ML28 MZ25 NE28 SN28 TD27 TG28"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** How long an IBAN of this country is, in letters and digits; undefined for none. */
export function ibanLength(country: string): number | undefined {
  return IBAN_LENGTHS.get(country.toUpperCase());
}

/** ISO 7064 mod 97-10: the first four characters behind the rest, letters as 10 to 35, remainder 1. */
export function ibanChecksumHolds(iban: string): boolean {
  let remainder = 0;
  for (const char of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(char, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}
