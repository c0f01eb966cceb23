// The address is known when the client runs, not when it is generated.
export default {
  crofter: {
    input: { target: "openapi.json" },
    output: {
      target: "client.ts",
      client: "fetch",
      mode: "single",
      baseUrl: { runtime: "ADDRESS", imports: [{ name: "ADDRESS", importPath: "./address" }] },
    },
  },
};
