/** Templates with one placeholder, `{{input}}` (spaces allowed inside), filled in one pass and never expanded again. */

export interface Template {
  /** How often the placeholder stands in it. */
  readonly inputs: number;
  fill(input: string): string;
  /** Length of `fill` of an input so long, in UTF-16 code units, without building it. */
  filledCharacters(inputCharacters: number): number;
}

const INPUT = /\{\{\s*input\s*\}\}/;

/**
 * Takes the template apart once. The text "" stands for no template: the input passes through.
 * @since 0.2.0
 */
export function parseTemplate(text: string): Template {
  if (text === "") return { inputs: 1, fill: (input) => input, filledCharacters: (characters) => characters };
  const pieces = text.split(INPUT);
  const inputs = pieces.length - 1;
  const fixedCharacters = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    inputs,
    fill: (input) => pieces.join(input),
    filledCharacters: (characters) => fixedCharacters + inputs * characters,
  };
}
