/** What a restricted user may do: one line for each object, with three levels; only what was changed is sent. */
import { Button, Checkbox, SegmentedControl, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Fragment, useState } from "react";

import { Disabled } from "../../ui/Disabled";
import { Card, ErrorMessage } from "../../ui/Page";
import { count } from "../../ui/words";
import { type Change, grant, type Grants, grantsOf } from "./queries";
import css from "./Users.module.css";

type Level = Grants["compute"][number]["permissions"];
type Kind = Exclude<keyof Change, "global">;
const KINDS: [Kind, string][] = [
  ["compute", "Instances"],
  ["volume", "Volumes"],
  ["image", "Images"],
  ["stackscript", "StackScripts"],
  ["domain", "Domains"],
  ["firewall", "Firewalls"],
  ["nodebalancer", "Load balancers"],
  ["longview", "Longview clients"],
];
const ADDS = ["add_computes", "add_volumes", "add_images", "add_stackscripts", "add_domains", "add_firewalls", "add_nodebalancers", "add_longview", "longview_subscription", "cancel_account"] as const;
const NAMES: Record<(typeof ADDS)[number], string> = {
  add_computes: "Create instances",
  add_volumes: "Create volumes",
  add_images: "Create images",
  add_stackscripts: "Create StackScripts",
  add_domains: "Create domains",
  add_firewalls: "Create firewalls",
  add_nodebalancers: "Create load balancers",
  add_longview: "Create Longview clients",
  longview_subscription: "Change the Longview plan",
  cancel_account: "Cancel the account",
};
const LEVELS: [Level, string][] = [
  [null, "Nothing"],
  ["read_only", "See"],
  ["read_write", "Change"],
];

export function GrantsCard({ name, held }: { name: string; held: string | undefined }) {
  const query = useQuery(grantsOf(name));
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  if (!query.data) return <Skeleton height={200} radius={10} />;
  return <Matrix name={name} given={query.data} held={held} />;
}

function Matrix({ name, given, held }: { name: string; given: Grants; held: string | undefined }) {
  const cache = useQueryClient();
  const [global, setGlobal] = useState<Partial<Grants["global"]>>({});
  const [levels, setLevels] = useState<Record<string, Level>>({});
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const now = { ...given.global, ...global };
  const changes = Object.keys(global).length + Object.keys(levels).length;
  const levelOf = (kind: Kind, id: number, before: Level): Level => levels[`${kind}:${id}`] === undefined ? before : (levels[`${kind}:${id}`] as Level);
  async function save(): Promise<void> {
    setBusy(true);
    setProblem(null);
    const wanted: Change = Object.keys(global).length > 0 ? { global } : {};
    for (const [kind] of KINDS) {
      const mine = Object.entries(levels).filter(([key]) => key.startsWith(`${kind}:`));
      if (mine.length > 0) wanted[kind] = mine.map(([key, permissions]) => ({ id: Number(key.split(":")[1]), permissions }));
    }
    try {
      await grant(name, wanted);
      await cache.invalidateQueries({ queryKey: ["users", "one", name] });
      setGlobal({});
      setLevels({});
      notifications.show({ message: `The grants of ${name} are saved`, color: "croft" });
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  }
  const kinds = KINDS.filter(([kind]) => given[kind].length > 0);
  return (
    <Card title="Grants">
      <div className={css.global}>
        <div>
          <span id="account-access">The account, its billing and users</span>
          <SegmentedControl
            aria-labelledby="account-access"
            mt={4}
            value={now.account_access ?? "none"}
            onChange={(level) => setGlobal({ ...global, account_access: level === "none" ? null : (level as "read_only" | "read_write") })}
            data={LEVELS.map(([value, label]) => ({ value: value ?? "none", label }))}
          />
        </div>
        {ADDS.map((add) => (
          <Checkbox key={add} label={NAMES[add]} checked={now[add]} onChange={(change) => setGlobal({ ...global, [add]: change.currentTarget.checked })} />
        ))}
      </div>
      {kinds.length > 0 && (
        <table className={css.matrix} aria-label={`What ${name} may do with each object`}>
          <thead>
            <tr>
              <th scope="col">Object</th>
              {LEVELS.map(([level, word]) => (
                <th key={word} scope="col" data-level={level}>
                  {word}
                </th>
              ))}
            </tr>
          </thead>
          {kinds.map(([kind, title]) => (
            <Fragment key={kind}>
              <tbody>
                <tr className={css.kind}>
                  <th scope="rowgroup" colSpan={4}>
                    {title}
                  </th>
                </tr>
                {given[kind].map((objectGrant) => (
                  <tr key={objectGrant.id}>
                    <th scope="row">{objectGrant.label ?? objectGrant.id}</th>
                    {LEVELS.map(([level, word]) => (
                      <td key={word}>
                        <input
                          type="radio"
                          name={`${kind}-${objectGrant.id}`}
                          aria-label={`${objectGrant.label ?? objectGrant.id}: ${word}`}
                          checked={levelOf(kind, objectGrant.id, objectGrant.permissions) === level}
                          onChange={() => setLevels({ ...levels, [`${kind}:${objectGrant.id}`]: level })}
                        />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </Fragment>
          ))}
        </table>
      )}
      {problem !== null && <ErrorMessage error={problem} />}
      <div className={css.save}>
        <Disabled reason={held ?? (changes === 0 && "Nothing is changed yet.")}>
          <Button onClick={() => void save()} loading={busy}>
            Save the grants
          </Button>
        </Disabled>
        {changes > 0 && <span className="quiet">{count(changes, "change")} not saved</span>}
      </div>
    </Card>
  );
}
