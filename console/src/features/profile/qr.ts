/** A QR code (ISO/IEC 18004) of up to 134 bytes: byte mode, level L, versions 3 to 6, mask 0. Drawn here: no secret leaves the page. */

/** By version: data codewords, error correction codewords of a block, blocks, centre of the alignment pattern. */
const VERSIONS = [
  { version: 3, data: 55, ecc: 15, blocks: 1, centre: 22 },
  { version: 4, data: 80, ecc: 20, blocks: 1, centre: 26 },
  { version: 5, data: 108, ecc: 26, blocks: 1, centre: 30 },
  { version: 6, data: 136, ecc: 18, blocks: 2, centre: 34 },
];
/** Level L and mask 0 with their BCH code, as the standard's table has them. */
const FORMAT = 0b111011111000100;

const EXP = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let power = 0, value = 1; power < 255; power++) {
  EXP[power] = EXP[power + 255] = value;
  LOG[value] = power;
  value = (value << 1) ^ (value & 0x80 ? 0x11d : 0);
}
const times = (left: number, right: number): number => (left && right ? EXP[LOG[left]! + LOG[right]!]! : 0);

/** The remainder of the data divided by the generator polynomial over GF(256). */
export function correction(data: readonly number[], count: number): number[] {
  let generator = [1];
  for (let power = 0; power < count; power++) {
    const next = [...generator, 0];
    generator.forEach((factor, place) => (next[place + 1]! ^= times(factor, EXP[power]!)));
    generator = next;
  }
  const rest = [...data, ...new Array<number>(count).fill(0)];
  for (let place = 0; place < data.length; place++) {
    const lead = rest[place]!;
    if (lead) generator.forEach((factor, offset) => (rest[place + offset]! ^= times(factor, lead)));
  }
  return rest.slice(data.length);
}

function codewords(bytes: Uint8Array, shape: (typeof VERSIONS)[number]): number[] {
  const bits: number[] = [];
  const put = (value: number, length: number) => {
    for (let at = length - 1; at >= 0; at--) bits.push((value >> at) & 1);
  };
  put(0b0100, 4);
  put(bytes.length, 8);
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, shape.data * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const data: number[] = [];
  for (let at = 0; at < bits.length; at += 8) data.push(Number.parseInt(bits.slice(at, at + 8).join(""), 2));
  for (let pad = 0xec; data.length < shape.data; pad ^= 0xec ^ 0x11) data.push(pad);
  const each = shape.data / shape.blocks;
  const blocks = Array.from({ length: shape.blocks }, (_, at) => data.slice(at * each, (at + 1) * each));
  const fixes = blocks.map((block) => correction(block, shape.ecc));
  const interleaved = (parts: number[][], length: number) => Array.from({ length }, (_, at) => parts.map((part) => part[at]!)).flat();
  return [...interleaved(blocks, each), ...interleaved(fixes, shape.ecc)];
}

/** Rows of dark (true) and light modules, without the quiet zone around. */
export function qr(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text);
  const shape = VERSIONS.find((version) => bytes.length + 2 <= version.data);
  if (!shape) throw new Error("too long for a QR code");
  const size = 17 + 4 * shape.version;
  const dark: (boolean | undefined)[][] = Array.from({ length: size }, () => new Array<boolean | undefined>(size));
  const set = (row: number, column: number, value: boolean) => {
    if (row >= 0 && column >= 0 && row < size && column < size) dark[row]![column] = value;
  };
  for (const [top, left] of [[0, 0], [0, size - 7], [size - 7, 0]] as const)
    for (let row = -1; row <= 7; row++)
      for (let column = -1; column <= 7; column++) {
        const ring = Math.max(Math.abs(row - 3), Math.abs(column - 3));
        set(top + row, left + column, ring !== 2 && ring !== 4);
      }
  for (let row = -2; row <= 2; row++) for (let column = -2; column <= 2; column++) set(shape.centre + row, shape.centre + column, Math.max(Math.abs(row), Math.abs(column)) !== 1);
  for (let at = 8; at < size - 8; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (let bit = 0; bit < 15; bit++) {
    const value = ((FORMAT >> bit) & 1) === 1;
    set(bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit, 8, value);
    set(8, bit < 8 ? size - 1 - bit : bit === 8 ? 7 : 14 - bit, value);
  }
  set(size - 8, 8, true);
  const bits = codewords(bytes, shape).flatMap((word) => [7, 6, 5, 4, 3, 2, 1, 0].map((at) => (word >> at) & 1));
  let next = 0;
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right--;
    for (let step = 0; step < size; step++) {
      const row = up ? size - 1 - step : step;
      for (const column of [right, right - 1]) if (dark[row]![column] === undefined) dark[row]![column] = ((bits[next++] ?? 0) ^ ((row + column) % 2 === 0 ? 1 : 0)) === 1;
    }
  }
  return dark as boolean[][];
}

/** As the path of an SVG with the quiet zone around; `size` is the edge of its view box. */
export function qrPath(text: string): { size: number; path: string } {
  const rows = qr(text);
  const path = rows.flatMap((row, top) => row.flatMap((on, left) => (on ? [`M${left + 4} ${top + 4}h1v1h-1z`] : []))).join("");
  return { size: rows.length + 8, path };
}
