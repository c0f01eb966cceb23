import { Button, NumberInput, Skeleton, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useParams } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";

import { Refused } from "../../api/errors";
import { Ago } from "../../ui/Cell";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Facts } from "../../ui/Facts";
import { FormCard, useSending } from "../../ui/form";
import { Icon } from "../../ui/Icon";
import { notify } from "../../ui/notify";
import { Card, Empty, ErrorMessage, Page } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { usePermissions } from "../profile/permissions";
import css from "./Balancer.module.css";
import { ConfigDialog } from "./ConfigDialog";
import { Ports } from "./Ports";
import { type Balancer, balancerById, configs, stats, update } from "./queries";

const Series = lazy(() => import("../../ui/Series"));
const BACK = { to: "/nodebalancers", label: "Load balancers" };

export default function Detail() {
  const id = Number(useParams({ strict: false }).id);
  const part = useLocation().pathname.split("/")[3];
  const query = useQuery(balancerById(id));
  const balancer = query.data;
  if (!balancer)
    return (
      <Page title="Load balancer" back={BACK} wide>
        {query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : <Skeleton height={300} radius={10} />}
      </Page>
    );
  return (
    <Page title={balancer.label} back={BACK} wide lead={
        <div className={css.address}>
          <Copyable text={balancer.ipv4} what="address" />
        </div>
      }>
      <Tabs
        label="Parts of the load balancer"
        tabs={[
          { to: `/nodebalancers/${id}`, label: "Ports and nodes", exact: true },
          { to: `/nodebalancers/${id}/graphs`, label: "Graphs" },
          { to: `/nodebalancers/${id}/settings`, label: "Settings" },
        ]}
      />
      {part === "graphs" ? <Graphs id={id} /> : part === "settings" ? <Settings balancer={balancer} /> : <Configs id={id} />}
    </Page>
  );
}

function Configs({ id }: { id: number }) {
  const cache = useQueryClient();
  const change = usePermissions().change("nodebalancer", id);
  const query = useQuery(configs(id));
  const [adding, setAdding] = useState(false);
  const add = (
    <Disabled reason={change}>
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setAdding(true)}>
        Listen at a port
      </Button>
    </Disabled>
  );
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  const configList = query.data?.data;
  return (
    <div className={css.stack}>
      {!configList && <Skeleton height={160} radius={10} />}
      {configList?.length === 0 && (
        <Card flush>
          <Empty icon="balance" title="It listens nowhere yet" action={add}>
            Name a port and a protocol, then the instances that share what arrives there.
          </Empty>
        </Card>
      )}
      {configList?.map((config) => <Ports key={config.id} id={id} config={config} change={change} />)}
      {configList && configList.length > 0 && <div>{add}</div>}
      {adding && (
        <ConfigDialog
          id={id}
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            return cache.invalidateQueries({ queryKey: ["nodebalancers"] });
          }}
        />
      )}
    </div>
  );
}

const perSecond = (value: number) => `${+value.toFixed(1)} a s`;
const bits = (value: number) => (value >= 1e6 ? `${+(value / 1e6).toFixed(1)} Mbit/s` : `${Math.round(value / 1e3)} kbit/s`);

function Graphs({ id }: { id: number }) {
  const { data, error } = useQuery(stats(id));
  const seen = data?.data;
  const connections = useMemo(() => (seen ? [{ label: "Connections", points: seen.connections as unknown as number[][] }] : []), [seen]);
  const traffic = useMemo(() => (seen ? [{ label: "In", points: seen.traffic.in as unknown as number[][] }, { label: "Out", points: seen.traffic.out as unknown as number[][] }] : []), [seen]);
  if (error instanceof Refused && error.status === 400)
    return (
      <Card title="Last 24 hours">
        <p className="quiet">{error.message}</p>
      </Card>
    );
  if (error) return <ErrorMessage error={error} />;
  if (!seen) return <Skeleton height={420} radius={10} />;
  return (
    <div className={css.stack}>
      <Card title="Connections" aside={<span className="quiet">last 24 hours</span>}>
        <Suspense fallback={<Skeleton height={180} />}>
          <Series label="Connections" lines={connections} format={perSecond} />
        </Suspense>
      </Card>
      <Card title="Traffic" aside={<span className="quiet">last 24 hours</span>}>
        <Suspense fallback={<Skeleton height={180} />}>
          <Series label="Traffic" lines={traffic} format={bits} />
        </Suspense>
      </Card>
    </div>
  );
}

function Settings({ balancer }: { balancer: Balancer }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { label: balancer.label, client_conn_throttle: balancer.client_conn_throttle, tags: balancer.tags } });
  const sending = useSending(
    form,
    (values) => update(balancer.id, values),
    () => {
      notify("Saved");
      return cache.invalidateQueries({ queryKey: ["nodebalancers"] });
    },
  );
  return (
    <div className={css.stack}>
      <FormCard title="Settings" sending={sending} submit="Save settings">
        <TextInput label="Name" autoComplete="off" {...form.getInputProps("label")} />
        <NumberInput label="New connections a second from one address" description="0 is no limit" min={0} {...form.getInputProps("client_conn_throttle")} />
        <TagsInput label="Tags" placeholder="Enter after each" {...form.getInputProps("tags")} />
      </FormCard>
      <Card title="About it">
        <Facts
          rows={[
            ["Host name", <Copyable key="host" text={balancer.hostname} what="host name" />],
            ["IPv6", balancer.ipv6 ? <Copyable key="six" text={balancer.ipv6} what="address" /> : "none"],
            ["Region", balancer.region],
            ["Created", <Ago key="created" time={balancer.created} />],
          ]}
        />
      </Card>
    </div>
  );
}
