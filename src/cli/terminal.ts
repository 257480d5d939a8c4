/**
 * How commands draw on a terminal: colors, widths, tables and wrapped text. The only file of the command line that writes
 * ANSI codes; diagnostics have their own in config/report/render.ts, which must not import from here.
 */
import { stripVTControlCharacters } from "node:util";
import { type CliIo, hasColors } from "./command.ts";

export type Paint = (text: string) => string;

export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
  readonly blue: Paint;
  readonly cyan: Paint;
  readonly magenta: Paint;
}

const COLUMNS_DEFAULT = 80;
/** Narrower than this nothing is readable, so it is not attempted. */
const COLUMNS_MIN = 40;

const unchanged: Paint = (text) => text;

/** Paints may be nested: each ends with its own code, and one that ends inside another is reopened. */
function paint(open: number, close: number): Paint {
  const [before, after] = [`\x1b[${open}m`, `\x1b[${close}m`];
  return (text) => (text === "" ? "" : `${before}${text.replaceAll(after, `${after}${before}`)}${after}`);
}

const PLAIN: Style = {
  ...{ bold: unchanged, dim: unchanged, red: unchanged, yellow: unchanged },
  ...{ green: unchanged, blue: unchanged, cyan: unchanged, magenta: unchanged },
};

const COLORED: Style = {
  bold: paint(1, 22),
  dim: paint(2, 22),
  red: paint(31, 39),
  green: paint(32, 39),
  yellow: paint(33, 39),
  blue: paint(34, 39),
  magenta: paint(35, 39),
  cyan: paint(36, 39),
};

/** Every function returns its text unchanged where colors are not wanted. */
export function styleOf(io: CliIo, stream: "stdout" | "stderr"): Style {
  return hasColors(io, stream) ? COLORED : PLAIN;
}

/** Of the terminal; 80 in a pipe and where it is not known. */
export function columnsOf(io: CliIo): number {
  const { columns = 0 } = io;
  return columns > 0 ? Math.max(COLUMNS_MIN, columns) : COLUMNS_DEFAULT;
}

const ASCII = /^[\x20-\x7e]*$/;
const INVISIBLE = /^[\p{Mark}\p{Control}\p{Format}\p{Default_Ignorable_Code_Point}]*$/u;
const WIDE =
  /^(?:\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Hangul}|\p{Script=Yi}|(?![\uff61-\uff9f])\p{Script=Katakana}|[\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\p{Emoji}\ufe0f)/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Terminal columns that a single line of text takes: escape sequences take none, wide characters two. */
export function visibleWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  const plain = stripVTControlCharacters(text);
  if (ASCII.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of graphemes.segment(plain)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what makes them visible.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Text of others on one line: control characters are shown as escapes and cannot move the cursor or reorder text. */
export function printable(text: string): string {
  return text.replace(CONTROL, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - visibleWidth(text)));
}

export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - visibleWidth(text))) + text;
}

/** A line cut to `width` columns, with an ellipsis where something was cut. */
export function cut(line: string, width: number): string {
  if (visibleWidth(line) <= width) return line;
  let shown = "";
  let left = width - 1;
  let isCut = false;
  // Even elements are text, odd ones the escape sequences between, which stay.
  for (const [index, piece] of line.split(ESCAPE).entries()) {
    if (index % 2 === 1) shown += piece;
    else if (!isCut) {
      for (const { segment } of graphemes.segment(piece)) {
        left -= graphemeWidth(segment);
        isCut = left < 0;
        shown += isCut ? "…" : segment;
        if (isCut) break;
      }
    }
  }
  return shown;
}

/**
 * Breaks text between words so that no line is wider than `width`, the indentation included; every line is indented by
 * `indent` spaces. Line breaks in the text stay. A word that is too long, such as a path, has a line to itself and stays
 * whole. Returns lines joined by `\n`, without one at the end. Styles end with each line and begin again on the next,
 * since pagers reset them there.
 */
export function wrap(text: string, width: number, indent = 0): string {
  const room = Math.max(1, width - indent);
  const lines = text.split("\n").flatMap((paragraph) => wrapParagraph(paragraph, room));
  const margin = " ".repeat(indent);
  return styledLines(lines)
    .map((line) => (line === "" ? "" : margin + line))
    .join("\n");
}

function wrapParagraph(text: string, room: number): readonly string[] {
  if (visibleWidth(text) <= room) return [text.trimEnd()];
  const lines: string[] = [];
  let line = "";
  let lineWidth = 0;
  for (const { gap, word } of wordsOf(text)) {
    const width = visibleWidth(word);
    if (lineWidth > 0 && lineWidth + gap.length + width > room) {
      lines.push(line);
      [line, lineWidth] = [word, width];
    } else {
      line += gap + word;
      lineWidth += gap.length + width;
    }
  }
  return [...lines, line];
}

/** Words with the spaces before them. A line may break before each wide character as well: CJK has no spaces. */
function* wordsOf(text: string): Generator<{ readonly gap: string; readonly word: string }> {
  let gap = "";
  for (const [index, run] of text.split(" ").entries()) {
    if (index > 0) gap += " ";
    if (run === "") continue;
    yield* piecesOf(run, gap);
    gap = "";
  }
}

function* piecesOf(run: string, gap: string): ReturnType<typeof wordsOf> {
  if (visibleWidth(run) === stripVTControlCharacters(run).length) {
    yield { gap, word: run };
    return;
  }
  let [space, word] = [gap, ""];
  for (const { segment } of graphemes.segment(run)) {
    if (graphemeWidth(segment) === 2 && word !== "") {
      yield { gap: space, word };
      [space, word] = ["", ""];
    }
    word += segment;
  }
  yield { gap: space, word };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const SGR = /\x1b\[(\d+)m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const ESCAPE = /(\x1b\[\d+m)/;

/** Draws whole screens one over the other, without flicker, and leaves the terminal as it was. */
export class Screen {
  readonly #io: CliIo;
  #isOpen = false;

  constructor(io: CliIo) {
    this.#io = io;
  }

  draw(text: string): void {
    const { rows = ROWS_DEFAULT } = this.#io;
    const width = columnsOf(this.#io);
    const lines = text.trimEnd().split("\n");
    const shown = lines.slice(0, rows - 1);
    if (lines.length > shown.length)
      shown[shown.length - 1] = `… ${lines.length - shown.length + 1} more lines`;
    const start = this.#isOpen ? "\x1b[H" : "\x1b[?1049h\x1b[?25l\x1b[H";
    this.#isOpen = true;
    // Each line clears what was to its right, the end what was below: the screen is never empty in between.
    this.#io.stdout(`${start}${shown.map((line) => `${cut(line, width)}\x1b[0m\x1b[K\n`).join("")}\x1b[J`);
  }

  close(): void {
    if (this.#isOpen) this.#io.stdout("\x1b[?25h\x1b[?1049l");
    this.#isOpen = false;
  }
}

const ROWS_DEFAULT = 24;

function styledLines(lines: readonly string[]): readonly string[] {
  let open: readonly number[] = [];
  return lines.map((line) => {
    const before = open.map((code) => `\x1b[${code}m`).join("");
    for (const [, digits] of line.matchAll(SGR)) open = stillOpen(open, Number(digits));
    return before + line + (open.length === 0 ? "" : "\x1b[0m");
  });
}

function stillOpen(open: readonly number[], code: number): readonly number[] {
  if (code === 0) return [];
  if (code === 22) return open.filter((other) => other !== 1 && other !== 2);
  if (code === 39) return open.filter((other) => other < 30 || other > 37);
  return open.includes(code) ? open : [...open, code];
}

export interface TableOptions {
  /** Spaces before every line. Default: 0. */
  readonly indent?: number;
  /** Spaces between columns. Default: 2. */
  readonly gap?: number;
  /** Columns of the terminal: the last column is wrapped under itself to stay within. Default: it is not wrapped. */
  readonly max?: number;
  /** Columns aligned at their right, such as numbers; by index. */
  readonly right?: readonly number[];
}

/** The last column is not wrapped to less than this: lines that are too long read better than a ribbon of words. */
const LAST_COLUMN_MIN = 24;

/** Rows in aligned columns, as lines joined by `\n`, without one at the end. No line ends in spaces. */
export function table(rows: readonly (readonly string[])[], options: TableOptions = {}): string {
  const { indent = 0, gap = 2, max = Number.POSITIVE_INFINITY, right = [] } = options;
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, visibleWidth(cell));
  const last = widths.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + gap, indent);
  const room = Math.max(LAST_COLUMN_MIN, max - before);
  return rows
    .map((row) => {
      const cells = row.map((cell, index) => {
        if (index === last && !right.includes(last)) return wrapCell(cell, { room, before });
        return (right.includes(index) ? padStart : padEnd)(cell, widths[index] ?? 0);
      });
      return (" ".repeat(indent) + cells.join(" ".repeat(gap))).trimEnd();
    })
    .join("\n");
}

function wrapCell(
  cell: string,
  { room, before }: { readonly room: number; readonly before: number },
): string {
  if (visibleWidth(cell) <= room) return cell;
  const [first = "", ...others] = wrap(cell, room).split("\n");
  return [first, ...others.map((line) => " ".repeat(before) + line)].join("\n");
}
