import { expect, test } from "vitest";

import { correction, qr } from "./qr";

test("error correction is that of the standard's example", () => {
  expect(correction([32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17], 10)).toEqual([196, 35, 39, 119, 235, 215, 231, 226, 93, 23]);
});

test("what a reader takes from the modules is what was put in", () => {
  for (const text of ["otpauth://totp/crofter:ada?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=crofter", "x".repeat(134), "short"]) expect(read(qr(text))).toBe(text);
});

/** A reader for codes of one mask and of undamaged modules. */
function read(rows: boolean[][]): string {
  const size = rows.length;
  const centre = size - 7;
  const fixed = (row: number, column: number) =>
    (row < 9 && column < 9) || (row < 9 && column >= size - 8) || (row >= size - 8 && column < 9) || row === 6 || column === 6 || (Math.abs(row - centre) <= 2 && Math.abs(column - centre) <= 2);
  const bits: number[] = [];
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right--;
    for (let step = 0; step < size; step++) {
      const row = up ? size - 1 - step : step;
      for (const column of [right, right - 1]) if (!fixed(row, column)) bits.push(Number(rows[row]![column]) ^ ((row + column) % 2 === 0 ? 1 : 0));
    }
  }
  const words: number[] = [];
  for (let at = 0; at + 8 <= bits.length; at += 8) words.push(Number.parseInt(bits.slice(at, at + 8).join(""), 2));
  const data = size === 41 ? Array.from({ length: 136 }, (_, at) => words[(at % 68) * 2 + Math.floor(at / 68)]!) : words;
  const nibbles = data.flatMap((word) => [word >> 4, word & 15]);
  expect(nibbles[0]).toBe(4);
  const length = (nibbles[1]! << 4) | nibbles[2]!;
  return String.fromCharCode(...Array.from({ length }, (_, at) => (nibbles[3 + 2 * at]! << 4) | nibbles[4 + 2 * at]!));
}
