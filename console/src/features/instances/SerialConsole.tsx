import { Button, Kbd, Skeleton } from "@mantine/core";
import { lazy, Suspense, useState } from "react";

import { Disabled } from "../../ui/Disabled";
import { Card } from "../../ui/Page";
import css from "./SerialConsole.module.css";
import { serialPath } from "./serialQueries";
import { useSubject } from "./subject";

const Terminal = lazy(() => import("../../ui/Terminal"));

/** `attempt` grows with each try; 0: nobody has tried. */
interface State {
  attempt: number;
  open: boolean;
  ended?: string;
}

/** The screen and keyboard of the machine itself, where it can be reached even if its network cannot. */
export default function SerialConsole() {
  const { instance, denied } = useSubject();
  const [state, setState] = useState<State>({ attempt: denied === undefined && instance.status === "running" ? 1 : 0, open: false });
  const again = () => setState(({ attempt }) => ({ attempt: attempt + 1, open: false }));
  const waits = state.attempt === 0 || state.ended !== undefined;
  return (
    <Card
      title="Serial console"
      aside={
        <Disabled reason={denied}>
          <Button variant="default" size="xs" onClick={again}>
            {waits ? "Connect" : "Connect again"}
          </Button>
        </Disabled>
      }
    >
      <p className="quiet" role="status">
        {state.ended ?? (state.attempt === 0 ? (denied ?? "The instance is off. Boot it, then connect.") : state.open ? "Connected" : "Connecting …")}
      </p>
      {state.attempt > 0 && (
        <div className={css.frame}>
          <Suspense fallback={<Skeleton height={240} />}>
            <Terminal
              key={state.attempt}
              label={`Serial console of ${instance.label}`}
              path={() => serialPath(instance.id)}
              onOpen={() => setState((now) => ({ ...now, open: true }))}
              onEnd={(reason) => setState((now) => ({ ...now, open: false, ended: reason }))}
            />
          </Suspense>
        </div>
      )}
      <p className="quiet">
        <Kbd>Shift</Kbd> <Kbd>Tab</Kbd> leaves the terminal.
      </p>
    </Card>
  );
}
