/** The instance that a part of its page is about. The frame shows the parts only once it is known. */
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import type { Instance } from "../../api/client";
import { useProgress } from "../../live/progress";
import { usePermissions } from "../profile/permissions";
import { instanceById } from "./queries";

const route = getRouteApi("/instances/$id");

export interface Subject {
  instance: Instance;
  /** Why it may not be changed: by grants. */
  denied: string | undefined;
  /** Why nothing new can be started now: by grants, or since something is under way. */
  held: string | undefined;
}

export function useSubject(): Subject {
  const { id } = route.useParams();
  const { data: instance } = useSuspenseQuery(instanceById(id));
  const event = useProgress("compute", id);
  const denied = usePermissions().change("compute", id);
  return { instance, denied, held: denied ?? (event ? "Something is under way" : undefined) };
}
