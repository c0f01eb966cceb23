/** A filter as the API takes it: JSON in a header. Letters outside ASCII are escaped, since a header has none. */
export function filter<T extends object>(wanted: T): { "X-Filter"?: string } {
  if (Object.keys(wanted).length === 0) return {};
  const text = JSON.stringify(wanted).replace(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return { "X-Filter": text };
}
