/** How configuration and control plane write a moment. */

/** A pattern: an ISO 8601 date, or date and time with its offset. Whether that day exists is another question. */
export const TIMESTAMP =
  "^\\d{4}-\\d\\d-\\d\\d(?:[Tt]\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?(?:[Zz]|[+-]\\d\\d:\\d\\d))?$";
