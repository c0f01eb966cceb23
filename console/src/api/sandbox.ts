/** The sandbox's own interface: no token, and from elsewhere than its machine a key, which is kept until the page is closed. */
import { Refused } from "./errors";

let key = "";
export const showKey = (typed: string): void => {
  key = typed;
};

export async function askSandbox<T>(path: string, method = "GET", content?: unknown): Promise<T> {
  const headers = { ...(content === undefined ? {} : { "Content-Type": "application/json" }), ...(key ? { "X-Sandbox-Key": key } : {}) };
  const request = new Request(`/_sandbox${path}`, { method, body: content === undefined ? undefined : JSON.stringify(content), headers });
  const answer = await fetch(request);
  if (!answer.ok) throw await Refused.from(answer, request);
  return (await answer.json()) as T;
}
