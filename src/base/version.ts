/** The package's version, as clients see it. test/docs.test.ts holds it to package.json. */
export const VERSION = "0.1.0";
