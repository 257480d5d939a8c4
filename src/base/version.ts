/** The package's version, as it tells itself to clients. test/docs.test.ts holds it to package.json. */
export const VERSION = "0.1.0";
