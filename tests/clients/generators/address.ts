// The address of the server, with the version: the first argument of the calls.

declare const process: { argv: string[] };

export const ADDRESS: string = process.argv[2] ?? "";
