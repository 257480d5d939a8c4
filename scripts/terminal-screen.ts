// Text of a terminal, with its ANSI colors, as an SVG that follows the reader's light or dark theme.

const CHARACTER_PX = 7.83;
const LINE_PX = 18;
const PADDING_PX = 18;
const ESCAPE = String.fromCharCode(27);

const STYLE = `
  .bg { fill: #ffffff; stroke: #d0d7de } text { fill: #1f2328; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre }
  .b1 { font-weight: 600 } .c31 { fill: #cf222e } .c32 { fill: #1a7f37 } .c33 { fill: #9a6700 } .c34 { fill: #0969da } .c35 { fill: #8250df } .c36 { fill: #1b7c83 } .c2, .c90 { fill: #59636e } .p { fill: #1a7f37; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .bg { fill: #0d1117; stroke: #3d444d } text { fill: #e6edf3 }
    .c31 { fill: #ff7b72 } .c32 { fill: #56d364 } .c33 { fill: #d29922 } .c34 { fill: #79c0ff } .c35 { fill: #d2a8ff } .c36 { fill: #76e3ea } .c2, .c90 { fill: #9198a1 } .p { fill: #56d364 }
  }`;

export interface Screen {
  /** What the picture shows, for people who do not see it. */
  readonly label: string;
  /** Default: 100. */
  readonly columns?: number;
}

export function svgOf(text: string, { label, columns = 100 }: Screen): string {
  const lines = text.split("\n").flatMap((line) => wrapped(line, columns));
  const width = Math.ceil(columns * CHARACTER_PX + 2 * PADDING_PX);
  const height = lines.length * LINE_PX + 2 * PADDING_PX;
  const rows = lines.map((line, row) => {
    const y = PADDING_PX + (row + 0.75) * LINE_PX;
    return `  <text x="${PADDING_PX}" y="${y}">${spans(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" xml:space="preserve" role="img" aria-label="${escaped(label).replaceAll('"', "&quot;")}">
<style>${STYLE}
</style>
  <rect class="bg" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${rows.join("\n")}
</svg>
`;
}

/** Lines without colors are wrapped at the width of the terminal; programs wrap those with colors themselves. */
function wrapped(line: string, columns: number): readonly string[] {
  if (line.length <= columns || line.includes(ESCAPE)) return [line];
  return [line.slice(0, columns), ...wrapped(line.slice(columns), columns)];
}

function spans(line: string): string {
  if (line.startsWith("$ "))
    return `<tspan class="p">$</tspan> <tspan class="b1">${escaped(line.slice(2))}</tspan>`;
  if (line.startsWith("# ")) return `<tspan class="c90">${escaped(line)}</tspan>`;
  const [plain = "", ...colored] = line.split(`${ESCAPE}[`);
  let classes: ReadonlySet<string> = new Set();
  const parts = colored.map((part) => {
    const [, codes = "", rest = ""] = /^([\d;]*)m(.*)$/s.exec(part) ?? [];
    for (const code of codes.split(";")) classes = after(classes, Number(code));
    const names = [...classes].join(" ");
    if (rest === "") return "";
    return names === "" ? escaped(rest) : `<tspan class="${names}">${escaped(rest)}</tspan>`;
  });
  return escaped(plain) + parts.join("");
}

/** The classes of the text after one SGR code. */
function after(classes: ReadonlySet<string>, code: number): ReadonlySet<string> {
  const without = (gone: (name: string) => boolean): string[] => [...classes].filter((name) => !gone(name));
  const isColor = (name: string): boolean => /^c(?!2$)/.test(name);
  if (code === 0) return new Set();
  if (code === 1) return new Set([...classes, "b1"]);
  if (code === 2) return new Set([...classes, "c2"]);
  if (code === 22) return new Set(without((name) => name === "b1" || name === "c2"));
  if (code === 39) return new Set(without(isColor));
  return (code >= 31 && code <= 36) || code === 90 ? new Set([...without(isColor), `c${code}`]) : classes;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
