/**
 * One stream for all tabs: every event is noted, and what it touches is fetched again.
 *
 * A browser opens six lines to a server that speaks HTTP/1.1, and a stream keeps one; with a stream in each tab the
 * seventh tab would never load. So one tab holds a lock, listens, and tells the others. When it goes, another gets it.
 */
import type { QueryClient, QueryFilters } from "@tanstack/react-query";

import { OWN_WORDS, api, body, type Event } from "../api/client";
import { facts } from "../facts";
import { session } from "../session/session";
import { forget, isUnderWay, note } from "./progress";
import { Frames } from "./sse";
import { staleAfter } from "./stale";

const QUIET = 40_000; // the server says something every 15 seconds; after this long the line is dead
const AT_MOST_EVERY = 1_000;

export type LineState = "connecting" | "open" | "broken";
type StateListener = (state: LineState) => void;
type Message = { event: Event; fresh: boolean } | { state: LineState };

export function follow(cache: QueryClient, onState: StateListener, onEnd: (event: Event) => void): () => void {
  let stopped = false;
  let last = 0;
  let began = 0;
  let line: AbortController | null = null;
  const beginning = new Set<Event[]>();
  const due = new Map<string, ReturnType<typeof setTimeout>>();
  const leaving = new AbortController();
  let others: BroadcastChannel | null = null;

  function publish(state: LineState): void {
    onState(state);
    others?.postMessage({ state } satisfies Message);
  }

  /** What is being fetched for the first time may have been read before the change, and is not begun anew: then once more. */
  async function fetchAgain(filters: QueryFilters): Promise<void> {
    const loading = cache.getQueryCache().findAll({ ...filters, fetchStatus: "fetching" });
    const first = loading.filter((query) => query.state.data === undefined);
    await cache.invalidateQueries(filters);
    await Promise.all(first.map((query) => cache.invalidateQueries({ queryKey: query.queryKey, exact: true })));
  }

  /** Events may have been missed: nobody listened, or listened for this tab. */
  function fetchAllAgain(): void {
    void fetchAgain({ predicate: (query) => query.queryKey[0] !== "catalogue" });
  }

  /** Progress comes many times a second; a list is fetched at most once in one. */
  function refetch(event: Event): void {
    const ended = !isUnderWay(event);
    if (ended && facts.sandbox) void cache.invalidateQueries({ queryKey: ["clock"] }); // time may have been moved
    for (const key of staleAfter(event)) {
      const name = JSON.stringify(key);
      if (ended) void fetchAgain({ queryKey: key });
      else if (!due.has(name))
        due.set(
          name,
          setTimeout(() => {
            due.delete(name);
            void fetchAgain({ queryKey: key });
          }, AT_MOST_EVERY),
        );
    }
  }

  function keep(event: Event): void {
    note(event);
    cache.setQueryData<{ data: Event[] }>(["events", "recent"], (kept) => {
      if (!kept) return kept;
      const rest = kept.data.filter((keptEvent) => keptEvent.id !== event.id);
      return { ...kept, data: [event, ...rest].sort((left, right) => right.id - left.id).slice(0, 50) };
    });
  }

  function take(event: Event, fresh: boolean): void {
    for (const queue of beginning) queue.push(event);
    keep(event);
    refetch(event);
    if (!isUnderWay(event) && !fresh) onEnd(event);
  }

  async function begin(): Promise<void> {
    const queue: Event[] = []; // by another tab meanwhile, and so newer than what is being read
    beginning.add(queue);
    const recent = await body(api.GET("/account/events", { params: { query: { page_size: 50 } } })).finally(() => beginning.delete(queue));
    forget();
    cache.setQueryData(["events", "recent"], recent);
    for (const event of recent.data) note(event);
    for (const event of queue) keep(event);
    // The stream tells how an event goes on only if it has sent that event: begin before the oldest that is under way.
    const open = recent.data.filter(isUnderWay).map((event) => event.id);
    began = Date.now();
    last = open.length > 0 ? Math.min(...open) - 1 : (recent.data[0]?.id ?? 0);
  }

  async function listen(): Promise<void> {
    line = new AbortController();
    let timeout = setTimeout(() => line?.abort(), QUIET);
    const token = await session.token();
    const answer = await fetch(`/v4/account/events/stream?after=${last}`, {
      headers: { ...OWN_WORDS, Authorization: `Bearer ${token}`, Accept: "text/event-stream" },
      signal: line.signal,
      cache: "no-store",
    });
    if (answer.status === 401) return session.lost();
    if (!answer.ok || !answer.body) throw new Error(`the stream answered ${answer.status}`);
    publish("open");
    const frames = new Frames();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(timeout);
      if (done) return;
      timeout = setTimeout(() => line?.abort(), QUIET);
      for (const frame of frames.push(value)) {
        const event = JSON.parse(frame.data) as Event;
        if (frame.id) last = Math.max(last, Number(frame.id));
        const fresh = frame.event === "event" && !isUnderWay(event);
        take(event, fresh);
        others?.postMessage({ event, fresh } satisfies Message);
      }
    }
  }

  /** Listen until we stop. After a break everything is looked at again: a change that was missed has no id. */
  async function lead(): Promise<void> {
    let wait = 500;
    let begun = Date.now() - began < AT_MOST_EVERY; // nobody else had the lock, and what was read just now is still so
    while (!stopped && session.signedIn) {
      try {
        if (!begun) {
          await begin();
          fetchAllAgain();
        }
        begun = false;
        await listen();
        wait = 500;
      } catch {
        if (stopped) return;
        publish("broken");
        wait = Math.min(wait * 2, 15_000);
      }
      await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random() / 2)));
    }
  }

  void (async () => {
    onState("connecting");
    const { username } = await body(api.GET("/profile")); // tabs of two users tell each other nothing
    if (stopped) return;
    others = new BroadcastChannel(`crofter.events.${username}`);
    others.onmessage = ({ data }: MessageEvent<Message>) => {
      if ("event" in data) return take(data.event, data.fresh);
      onState(data.state);
      if (data.state === "open") void begin().then(fetchAllAgain, () => undefined); // it listens from now on, or again
    };
    await begin();
    fetchAllAgain(); // what this tab has fetched so far it fetched before anybody told it of changes
    onState("open"); // as far as we know: the tab that listens says otherwise
    await navigator.locks.request(`crofter.stream.${username}`, { signal: leaving.signal }, lead);
  })().catch(() => {
    if (!stopped) onState("broken");
  });

  return () => {
    stopped = true;
    leaving.abort();
    line?.abort();
    others?.close();
    for (const timer of due.values()) clearTimeout(timer);
  };
}
