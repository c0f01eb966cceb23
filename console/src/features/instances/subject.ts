/** The instance that a part of its page is about. The frame shows the parts only once it is known. */
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import type { Instance } from "../../api/client";
import { useProgress } from "../../live/progress";
import { usePermissions } from "../profile/permissions";
import { instance } from "./queries";

const route = getRouteApi("/instances/$id");

export interface Subject {
  one: Instance;
  /** Why it may not be changed: by grants. */
  denied: string | undefined;
  /** Why nothing new can be started now: by grants, or since something is under way. */
  held: string | undefined;
}

export function useOne(): Subject {
  const { id } = route.useParams();
  const { data: one } = useSuspenseQuery(instance(id));
  const event = useProgress("compute", id);
  const denied = usePermissions().change("compute", id);
  return { one, denied, held: denied ?? (event ? "Something is under way" : undefined) };
}
