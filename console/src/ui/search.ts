import { filter } from "../api/filter";

/** What a list keeps in its address: what is looked for, its filters, the page, and the order. */
export interface BaseSearch {
  q?: string;
  page?: number;
  order?: string;
}
export type ListSearch<K extends string = never> = BaseSearch & { [key in K]?: string };

/** `validateSearch` of a list; `filters` are the names of its own. Whatever else is in the address is dropped. */
export function listSearch<K extends string = never>(...filters: K[]): (search: Record<string, unknown>) => ListSearch<K> {
  return (search) => {
    const kept: Record<string, string | number> = {};
    for (const name of ["q", "order", ...filters]) {
      const value = search[name];
      if ((typeof value === "string" && value) || typeof value === "number") kept[name] = String(value);
    }
    const page = Number(search.page);
    if (Number.isInteger(page) && page > 1) kept.page = page;
    return kept as ListSearch<K>;
  };
}

export const PAGE_SIZE = 100;

/** The order as a filter of the API takes it: `label` upwards, `-label` downwards. */
export function orderOf(order: string | undefined): Record<string, string> {
  if (!order) return {};
  return order.startsWith("-") ? { "+order_by": order.slice(1), "+order": "desc" } : { "+order_by": order, "+order": "asc" };
}

/** The parameters of a page of a list. */
export const pageOf = (search: { page?: number }) => ({ page: search.page ?? 1, page_size: PAGE_SIZE });

/** A filter that wants all of these; what is false is left out. */
export function allOf(...parts: (object | false)[]): object {
  const wanted = parts.filter((part) => part !== false);
  return wanted.length > 1 ? { "+and": wanted } : (wanted[0] ?? {});
}

/** What is typed into the search field, in any of these fields. */
export const textIn = (q: string | undefined, ...fields: string[]): object | false =>
  q !== undefined && q !== "" && (fields.length > 1 ? { "+or": fields.map((field) => ({ [field]: { "+contains": q } })) } : { [fields[0] ?? ""]: { "+contains": q } });

/** The call of a list: its page, and a filter with its order. `fields` are looked through for what is typed. */
export function listCall(search: ListSearch<"tag">, fields: string[], ...further: (object | false)[]) {
  const wanted = allOf(textIn(search.q, ...fields), search.tag !== undefined && { tags: search.tag }, ...further);
  return { query: pageOf(search), header: filter({ ...wanted, ...orderOf(search.order) }) };
}
