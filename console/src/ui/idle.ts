/** What can wait until the page has been shown: as soon as the browser has nothing else to do, and soon in any case. */
const SOON_MS = 500;

/** Gives the way to call it off. */
export function whenIdle(run: () => void): () => void {
  if (typeof requestIdleCallback !== "function") {
    const timer = setTimeout(run, 50); // Safari has none
    return () => clearTimeout(timer);
  }
  const asked = requestIdleCallback(run, { timeout: SOON_MS });
  return () => cancelIdleCallback(asked);
}
