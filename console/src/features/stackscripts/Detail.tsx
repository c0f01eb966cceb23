import { Button, Skeleton } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { Ago, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Facts } from "../../ui/Facts";
import { Icon } from "../../ui/Icon";
import { notify } from "../../ui/notify";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { words } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import css from "./StackScript.module.css";
import { remove, revisions, type StackScript, stackscriptById } from "./queries";

const route = getRouteApi("/stackscripts/$id");
const BACK = { to: "/stackscripts", label: "StackScripts" };

export default function Detail() {
  const { id } = route.useParams();
  const navigate = useNavigate();
  const cache = useQueryClient();
  const permissions = usePermissions();
  const query = useQuery(stackscriptById(id));
  const [confirming, setConfirming] = useState(false);
  const script = query.data;
  if (!script)
    return (
      <Page title="StackScript" back={BACK}>
        {query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : <Skeleton height={260} radius={10} />}
      </Page>
    );
  const change = script.mine ? permissions.change("stackscript", id) : "It belongs to somebody else";
  return (
    <Page
      title={script.label}
      back={BACK}
      lead={script.description || undefined}
      actions={
        <>
          <Disabled reason={permissions.create("add_computes")}>
            <Button component={Link} to="/instances/new" search={{ stackscript: id } as never} leftSection={<Icon name="server" size={16} />}>
              Deploy
            </Button>
          </Disabled>
          <RowMenu
            label={script.label}
            actions={[
              { label: "Edit", icon: "pencil", onClick: () => void navigate({ to: "/stackscripts/$id/edit", params: { id } }), reason: change },
              { label: "Delete…", icon: "trash", danger: true, onClick: () => setConfirming(true), reason: change ?? (script.is_public && "A public StackScript cannot be deleted") },
            ]}
          />
        </>
      }
    >
      <div className={css.grid}>
        <div className={css.main}>
          <Card title="Script" aside={<span className="quiet">{script.script.split("\n").length} lines</span>}>
            <pre className={css.script} tabIndex={0} role="region" aria-label="Text of the script">
              {script.script}
            </pre>
          </Card>
          {script.mine && <Revisions id={id} />}
        </div>
        <div className={css.side}>
          <About script={script} />
          <Asks script={script} />
        </div>
      </div>
      {confirming && (
        <ConfirmByLabel
          onClose={() => setConfirming(false)}
          verb="Delete"
          label={script.label}
          onConfirm={async () => {
            await remove(id);
            notify(`${script.label} was deleted`);
            await navigate({ to: "/stackscripts", search: {} });
            await cache.invalidateQueries({ queryKey: ["stackscripts", "list"] });
          }}
          lost={<p>No instance can be deployed with it any more. Those that were run on.</p>}
        />
      )}
    </Page>
  );
}

function About({ script }: { script: StackScript }) {
  return (
    <Card title="About it">
      <Facts
        rows={[
          ["By", script.username],
          ["Seen by", script.is_public ? "everyone" : "your account"],
          ["Runs on", script.images.includes("any/all") ? "any image" : script.images.map((image) => image.replace("compute/", "")).join(", ")],
          ["Deployed", `${script.deployments_total} times, ${script.deployments_active} running`],
          ["Changed", <Ago key="changed" time={script.updated} />],
          ["Last note", script.rev_note || "none"],
          ["Id", <Copyable key="id" text={String(script.id)} what="id" />],
        ]}
      />
    </Card>
  );
}

function Asks({ script }: { script: StackScript }) {
  if (script.user_defined_fields.length === 0) return null;
  return (
    <Card title="What it asks for">
      <ul className={css.fields}>
        {script.user_defined_fields.map((field) => (
          <li key={field.name}>
            <TwoLines under={[field.default !== undefined ? `otherwise ${field.default || "empty"}` : "must be given", field.oneOf && `one of ${field.oneOf}`, field.manyOf && `some of ${field.manyOf}`, field.example && `such as ${field.example}`].filter(Boolean).join(", ")}>
              {field.label} <code>{field.name}</code>
            </TwoLines>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const EVENT_LABELS: Record<string, string> = { stackscript_create: "Written", stackscript_update: "Saved", stackscript_revise: "Text revised", stackscript_publicize: "Made public" };

function Revisions({ id }: { id: number }) {
  const { data } = useQuery(revisions(id));
  if (!data?.data.length) return null;
  return (
    <Card title="Revisions">
      <ol className={css.history}>
        {data.data.map((event) => (
          <li key={event.id}>
            <span>{EVENT_LABELS[event.action] ?? words(event.action)}</span>
            <span className="quiet">
              {event.username ?? "system"}, <Ago time={event.created} />
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}
