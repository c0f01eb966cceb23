/** What a change costs: the price before it and after it. The figures are the server's own, asked with `Prefer: plan`. */
import css from "./PriceChange.module.css";
import { money, perHour } from "./words";

interface Price {
  hourly: number;
  monthly: number;
}

/** `before` is what is paid now; without it only the change is said. */
export function PriceChange({ price, before, stale = false }: { price?: Price; before?: Price; stale?: boolean }) {
  const more = !before || !price ? "" : price.monthly < 0 ? " less" : " more";
  return (
    <dl className={`${css.change} figures`} data-stale={stale || undefined} aria-live="polite" aria-atomic="true">
      {before && (
        <>
          <dt>Now</dt>
          <dd>{money(before.monthly)} a month</dd>
        </>
      )}
      <dt>{before ? "By this" : "It costs"}</dt>
      <dd>{!price ? "–" : price.monthly === 0 ? "nothing more" : `${money(Math.abs(price.monthly))} a month${more}, ${perHour(Math.abs(price.hourly))} an hour`}</dd>
      {before && (
        <>
          <dt className={css.total}>After it</dt>
          <dd className={css.total}>{price ? `${money(Math.max(0, before.monthly + price.monthly))} a month` : "–"}</dd>
        </>
      )}
    </dl>
  );
}
