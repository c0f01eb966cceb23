/** A terminal on a web socket that carries bytes. What it is drawn with is heavy: import this file lazily. */
import { useComputedColorScheme } from "@mantine/core";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Screen } from "@xterm/xterm";
import { useEffect, useRef } from "react";
import "@xterm/xterm/css/xterm.css";

import { nonce } from "../facts";
import css from "./Terminal.module.css";

interface Props {
  label: string;
  /** The path of the socket on this server. Asked for each time that the terminal is shown. */
  path: () => Promise<string>;
  onOpen: () => void;
  /** Why it is over. */
  onEnd: (reason: string) => void;
}

/** Bytes of one message: a long text that is pasted becomes several. */
const PIECE = 8192;
const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const theme = () => ({ background: colour("--card"), foreground: colour("--ink"), cursor: colour("--strong"), cursorAccent: colour("--card"), selectionBackground: colour("--line") });

export default function Terminal({ label, path, onOpen, onEnd }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const handlers = useRef({ path, onOpen, onEnd });
  const scheme = useComputedColorScheme("light");
  handlers.current = { path, onOpen, onEnd };

  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const shown = new Screen({ screenReaderMode: true, convertEol: false, fontFamily: colour("--mono"), fontSize: 13, theme: theme() });
    const fit = new FitAddon();
    shown.loadAddon(fit);
    withNonce(() => shown.open(box));
    shown.textarea?.setAttribute("aria-label", label);
    // The tab key belongs to the machine; with shift it leaves, so that nobody is caught in here.
    shown.attachCustomKeyEventHandler((key) => !(key.key === "Tab" && key.shiftKey));
    const sized = new ResizeObserver(() => fit.fit());
    sized.observe(box);
    screen.current = shown;
    const leave = join(shown, handlers);
    return () => {
      leave();
      sized.disconnect();
      shown.dispose();
    };
  }, [label]);

  useEffect(() => {
    if (screen.current && scheme) screen.current.options.theme = theme();
  }, [scheme]);

  return <div ref={place} className={css.terminal} />;
}

/** Connect the screen to the socket; what is returned lets go of it. */
function join(shown: Screen, handlers: { readonly current: Pick<Props, "path" | "onOpen" | "onEnd"> }): () => void {
  let socket: WebSocket | null = null;
  let left = false;
  const encoder = new TextEncoder();
  shown.onData((typed) => {
    const content = encoder.encode(typed);
    for (let start = 0; start < content.length; start += PIECE) if (socket?.readyState === WebSocket.OPEN) socket.send(content.subarray(start, start + PIECE));
  });
  const connect = async () => {
    const address = new URL(await handlers.current.path(), location.href);
    address.protocol = address.protocol.replace("http", "ws");
    if (left) return;
    socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      handlers.current.onOpen();
      shown.focus();
    };
    socket.onmessage = (message) => shown.write(new Uint8Array(message.data as ArrayBuffer));
    socket.onclose = (closed) => !left && handlers.current.onEnd(closed.reason || "The connection was lost.");
  };
  connect().catch((error: unknown) => !left && handlers.current.onEnd(error instanceof Error ? error.message : String(error)));
  return () => {
    left = true;
    socket?.close();
  };
}

/** The screen writes style elements; the policy of the page lets only those through that carry its nonce. */
function withNonce(open: () => void): void {
  const make = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const made = make(name, options);
    if (made instanceof HTMLStyleElement && nonce) made.nonce = nonce;
    return made;
  }) as typeof document.createElement;
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, "createElement"); // the one of its prototype shows again
  }
}
