import { Button } from "@mantine/core";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { useProgress } from "../../live/progress";
import { Ago, Tags, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { say, sayFailed } from "../../ui/say";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { useMay } from "../profile/may";
import { AttachDialog, CloneDialog, EditDialog, ResizeDialog } from "./Dialogs";
import { detach, remove, type Volume, volumes } from "./queries";

const route = getRouteApi("/volumes");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/volumes --json \'{"label": "data", "size": 20, "region": "eu-west"}\'';
type Dialog = "edit" | "attach" | "resize" | "clone" | "delete";

export default function List() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const cache = useQueryClient();
  const query = useQuery({ ...volumes(search), placeholderData: keepPreviousData });
  const may = useMay();
  const [open, setOpen] = useState<{ dialog: Dialog; volume: Volume } | null>(null);
  const actions = useMemo(() => (volume: Volume) => <Actions volume={volume} onOpen={(dialog) => setOpen({ dialog, volume })} />, []);
  const close = () => setOpen(null);
  const done = (message: string) => {
    close();
    say(message);
    return cache.invalidateQueries({ queryKey: ["volumes"] });
  };
  const create = (
    <Disabled reason={may.create("add_volumes")}>
      <Button component={Link} to="/volumes/new" leftSection={<Icon name="plus" size={16} />}>
        Create volume
      </Button>
    </Disabled>
  );
  return (
    <Page title="Volumes" wide lead={query.data && <Sum all={query.data.data} results={query.data.results} />} actions={create}>
      <Table
        name="volumes"
        columns={COLUMNS}
        query={query}
        rowKey={(volume) => volume.id}
        rowLabel={(volume) => volume.label}
        search={search}
        onSearch={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        find="Find by name or tag"
        filtered={Boolean(search.tag)}
        actions={actions}
        empty={
          <Empty icon="disk" title="No volumes yet" command={CURL} action={create}>
            A volume is storage that outlives the instance it is attached to. It can move to another one in the same region, and grow.
          </Empty>
        }
      />
      {open?.dialog === "edit" && <EditDialog volume={open.volume} onClose={close} onDone={() => done(`${open.volume.label} was changed`)} />}
      {open?.dialog === "attach" && <AttachDialog volume={open.volume} onClose={close} onDone={() => done(`${open.volume.label} is being attached`)} />}
      {open?.dialog === "resize" && <ResizeDialog volume={open.volume} onClose={close} onDone={() => done(`${open.volume.label} is growing`)} />}
      {open?.dialog === "clone" && <CloneDialog volume={open.volume} onClose={close} onDone={() => done(`${open.volume.label} is being copied`)} />}
      {open?.dialog === "delete" && (
        <ConfirmByLabel
          opened
          onClose={close}
          verb="Delete"
          label={open.volume.label}
          onConfirm={async () => {
            await remove(open.volume.id);
            await done(`${open.volume.label} was deleted`);
          }}
          lost={<p>All {open.volume.size} GB that are on it are given up for good. It stops costing money.</p>}
        />
      )}
    </Page>
  );
}

function Sum({ all, results }: { all: Volume[]; results: number }) {
  if (results > all.length) return <>{count(results, "volume")}</>;
  const free = all.filter((volume) => volume.compute_id === null).length;
  const gigabytes = all.reduce((sum, volume) => sum + volume.size, 0);
  return (
    <>
      {count(gigabytes, "GB", "GB")} in {count(all.length, "volume")}
      {free > 0 && `, ${free} not attached`}
    </>
  );
}

function Actions({ volume, onOpen }: { volume: Volume; onOpen: (dialog: Dialog) => void }) {
  const may = useMay();
  const cache = useQueryClient();
  const busy = useProgress("volume", volume.id) !== undefined && "Something is under way";
  const change = may.change("volume", volume.id);
  const free = volume.compute_id === null;
  const letGo = () =>
    detach(volume.id)
      .then(() => say(`${volume.label} is being detached`))
      .then(() => cache.invalidateQueries({ queryKey: ["volumes"] }))
      .catch((error: unknown) => sayFailed(`Detach ${volume.label}`, error));
  return (
    <RowMenu
      label={volume.label}
      actions={[
        { label: "Rename and tag…", icon: "pencil", onClick: () => onOpen("edit"), reason: change },
        free
          ? { label: "Attach…", icon: "link", onClick: () => onOpen("attach"), reason: change ?? busy }
          : { label: "Detach", icon: "link", onClick: () => void letGo(), reason: change ?? (may.change("compute", volume.compute_id ?? 0) || busy) },
        { label: "Resize…", icon: "up", onClick: () => onOpen("resize"), reason: change ?? busy },
        { label: "Clone…", icon: "copy", onClick: () => onOpen("clone"), reason: may.create("add_volumes") ?? change ?? busy },
        { label: "Delete…", icon: "trash", danger: true, onClick: () => onOpen("delete"), reason: change ?? (free ? busy : "It must be detached before it can be deleted") },
      ]}
    />
  );
}

/** Redrawn alone while something is under way: the row around it is not. */
function State({ volume }: { volume: Volume }) {
  return <Status status={volume.status} event={useProgress("volume", volume.id)} />;
}

const COLUMNS: Column<Volume>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (volume) => volume.label,
    cell: (volume) => (
      <TwoLines
        under={
          <>
            <Tags tags={volume.tags} />
            <Ago time={volume.created} />
          </>
        }
      >
        <strong>{volume.label}</strong>
      </TwoLines>
    ),
  },
  { key: "status", header: "Status", width: 220, phone: "wide", csv: (volume) => volume.status, cell: (volume) => <State volume={volume} /> },
  { key: "size", header: "Size", align: "right", csv: (volume) => volume.size, cell: (volume) => `${volume.size} GB` },
  { key: "region", header: "Region", phone: "hide", csv: (volume) => volume.region, cell: (volume) => volume.region },
  {
    key: "compute",
    header: "Attached to",
    csv: (volume) => volume.compute_label,
    cell: (volume) =>
      volume.compute_id === null ? (
        <span className="quiet">nothing, still billed</span>
      ) : (
        <Link to="/instances/$id" params={{ id: volume.compute_id }}>
          {volume.compute_label}
        </Link>
      ),
  },
  { key: "path", header: "Path in the instance", phone: "wide", csv: (volume) => volume.filesystem_path, cell: (volume) => <Copyable text={volume.filesystem_path} what="path" /> },
];
