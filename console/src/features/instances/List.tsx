import { Button, NativeSelect } from "@mantine/core";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { createContext, lazy, Suspense, use, useEffect, useMemo, useState } from "react";

import type { Instance, Schemas } from "../../api/client";
import { useProgress } from "../../live/progress";
import { TagsAndAge, TwoLines } from "../../ui/Cell";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { whenIdle } from "../../ui/idle";
import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { Status } from "../../ui/Status";
import { type Column, Table, useSearchChange } from "../../ui/Table";
import { count, money, size } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { tags } from "./choices";
import { DeleteInstance } from "./DeleteInstance";
import css from "./List.module.css";
import { Power } from "./Power";
import { instances, legacyTypes, regions, type Search, types } from "./queries";
import { Views } from "./Views";

const Bulk = lazy(() => import("./Bulk"));
const route = getRouteApi("/instances");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/compute/instances --json \'{"type": "g6-nanode-1", "region": "eu-west"}\'';

export default function List() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const cache = useQueryClient();
  const query = useQuery({ ...instances(search), placeholderData: keepPreviousData });
  const catalogue = useQuery(types);
  const legacy = useQuery(legacyTypes);
  const permissions = usePermissions();
  const [toRemove, setToRemove] = useState<Instance | null>(null);
  const typesById = useMemo(() => byId(legacy.data, catalogue.data), [catalogue.data, legacy.data]);
  const columns = useMemo(() => columnsWith((instance) => monthly(instance, byId(cache.getQueryData(legacyTypes.queryKey), cache.getQueryData(types.queryKey)))), [cache]);
  const actions = useMemo(() => (instance: Instance) => <Power instance={instance} onRemove={setToRemove} />, []);
  const change = useSearchChange<Search>();
  const create = (
    <Disabled reason={permissions.create("add_computes")}>
      <Button component={Link} to="/instances/new" leftSection={<Icon name="plus" size={16} />}>
        Create instance
      </Button>
    </Disabled>
  );

  return (
    <Page
      title="Instances"
      wide
      lead={query.data && <Counts all={query.data.data} results={query.data.results} />}
      actions={
        <>
          <Views search={search} onChoose={(chosen) => void navigate({ search: chosen })} />
          {create}
        </>
      }
    >
      {query.data && "looked" in query.data && query.data.looked && <p className={css.note}>Looked through the first {query.data.looked} only. Find by name or tag to narrow it down.</p>}
      <KnownTypes value={typesById}>
        <Table
          name="instances"
          columns={columns}
          query={query}
          rowKey={(instance) => instance.id}
          rowLabel={(instance) => instance.label}
          search={search}
          find="Find by name, tag or address"
          filters={<Filters search={search} onChange={change} shown={query.isSuccess} />}
          filtered={Boolean(search.tag || search.region || search.status)}
          actions={actions}
          bulk={(chosen, clear) => (
            <Suspense fallback={null}>
              <Bulk chosen={chosen} clear={clear} />
            </Suspense>
          )}
          empty={
            <Empty icon="server" title="No instances yet" command={CURL} action={create}>
              An instance is a machine of your own. It is ready in a minute, and you pay by the hour for as long as it exists.
            </Empty>
          }
        />
      </KnownTypes>
      {toRemove && <DeleteInstance instance={toRemove} onClose={() => setToRemove(null)} />}
    </Page>
  );
}

const STATES = [
  { value: "running", label: "Running" },
  { value: "offline", label: "Offline" },
  { value: "stopped", label: "Stopped" },
  { value: "changing", label: "Changing" },
];

/** What can be chosen comes after the rows that are `shown`: an account may have hundreds of tags. */
function Filters({ search, onChange, shown }: { search: Search; onChange: (change: Partial<Search>) => void; shown: boolean }) {
  const [due, setDue] = useState(false);
  useEffect(() => (shown ? whenIdle(() => setDue(true)) : undefined), [shown]);
  const places = useQuery({ ...regions, enabled: due });
  const labels = useQuery({ ...tags, enabled: due });
  const offered = labels.data?.data.map((tag) => tag.label) ?? [];
  const set = (name: "status" | "region" | "tag") => (event: { currentTarget: { value: string } }) => onChange({ [name]: event.currentTarget.value || undefined, page: undefined });
  return (
    <>
      <NativeSelect className={css.filter} aria-label="Status" value={search.status ?? ""} onChange={set("status")} data={[{ value: "", label: "Any status" }, ...STATES]} />
      <NativeSelect
        className={css.filter}
        aria-label="Region"
        value={search.region ?? ""}
        onChange={set("region")}
        data={[{ value: "", label: "Any region" }, ...(places.data?.data ?? (search.region ? [{ id: search.region }] : [])).map(({ id }) => ({ value: id, label: id }))]}
      />
      <NativeSelect
        className={css.filter}
        aria-label="Tag"
        value={search.tag ?? ""}
        onChange={set("tag")}
        data={[{ value: "", label: "Any tag" }, ...new Set([...offered, ...(search.tag ? [search.tag] : [])])]}
      />
    </>
  );
}

function Counts({ all, results }: { all: Instance[]; results: number }) {
  if (results > all.length) return <>{count(results, "instance")}</>;
  const running = all.filter((instance) => instance.status === "running").length;
  const offline = all.filter((instance) => instance.status === "offline").length;
  const busy = all.length - running - offline;
  return (
    <>
      {running} running, {offline} offline{busy > 0 && `, ${busy} changing`}
    </>
  );
}

/** Redrawn alone while something is under way: the row around it is not. */
function State({ instance }: { instance: Instance }) {
  return <Status status={instance.status} event={useProgress("compute", instance.id)} />;
}

type Types = ReadonlyMap<string, Schemas["TypeView"]>;
/** Cells ask here, so that rows that are there already are not drawn again when plans and prices come. */
const KnownTypes = createContext<Types>(new Map());

type TypePage = { data: Schemas["TypeView"][] } | undefined;
const byId = (legacy: TypePage, current: TypePage): Types => new Map([...(legacy?.data ?? []), ...(current?.data ?? [])].map((type) => [type.id, type]));

function monthly(instance: Instance, typesById: Types): number {
  const type = typesById.get(instance.type);
  return (type?.price.monthly ?? 0) + (instance.backups.enabled ? (type?.addons.backups.price.monthly ?? 0) : 0);
}

function Plan({ instance }: { instance: Instance }) {
  return <TwoLines under={`${instance.specs.vcpus} vCPU, ${size(instance.specs.disk)}`}>{use(KnownTypes).get(instance.type)?.label ?? instance.type}</TwoLines>;
}

function Price({ instance }: { instance: Instance }) {
  const typesById = use(KnownTypes);
  return <TwoLines under={instance.status === "offline" ? "still billed" : "a month"}>{typesById.has(instance.type) && money(monthly(instance, typesById))}</TwoLines>;
}

function columnsWith(price: (instance: Instance) => number): Column<Instance>[] {
  return [
    {
      key: "label",
      header: "Name",
      sort: "label",
      csv: (instance) => instance.label,
      cell: (instance) => (
        <TwoLines under={<TagsAndAge of={instance} />}>
          <RowLink to={`/instances/${instance.id}`}>{instance.label}</RowLink>
        </TwoLines>
      ),
    },
    { key: "status", header: "Status", width: 230, phone: "wide", csv: (instance) => instance.status, cell: (instance) => <State instance={instance} /> },
    { key: "ipv4", header: "Address", csv: (instance) => instance.ipv4.join(" "), cell: (instance) => instance.ipv4[0] && <Copyable text={instance.ipv4[0]} what="address" /> },
    { key: "type", header: "Plan", phone: "hide", csv: (instance) => instance.type, cell: (instance) => <Plan instance={instance} /> },
    { key: "region", header: "Region", sort: "region", phone: "hide", csv: (instance) => instance.region, cell: (instance) => instance.region },
    { key: "price", header: "Price", align: "right", csv: price, cell: (instance) => <Price instance={instance} /> },
  ];
}
