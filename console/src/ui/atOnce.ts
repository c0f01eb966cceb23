/** The same order for many objects, some at a time: neither one after the other, nor all at once. */
export interface Failed<T> {
  item: T;
  error: unknown;
}

/** Answers those that failed, when all are done. */
export async function atOnce<T>(items: readonly T[], order: (item: T) => Promise<unknown>, width = 4): Promise<Failed<T>[]> {
  const waiting = [...items];
  const failed: Failed<T>[] = [];
  async function work(): Promise<void> {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await order(item);
      } catch (error) {
        failed.push({ item, error });
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, work));
  return failed;
}
