import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";

import { useProgress } from "../../live/progress";
import { TagsAndAge, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { ListPage, useRowDialog } from "../../ui/ListPage";
import { notify, notifyFailed } from "../../ui/notify";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import type { Column } from "../../ui/Table";
import { count } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { AttachDialog, CloneDialog, EditDialog, ResizeDialog } from "./Dialogs";
import { detach, remove, type Volume, volumes } from "./queries";

const route = getRouteApi("/volumes");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/volumes --json \'{"label": "data", "size": 20, "region": "eu-west"}\'';
const TEXT = "A volume is storage that outlives the instance it is attached to. It can move to another one in the same region, and grow.";
type Dialog = "edit" | "attach" | "resize" | "clone" | "delete";

/** What is asked before a volume is changed, and what is said then. */
const DIALOGS = [
  ["edit", EditDialog, "was changed"],
  ["attach", AttachDialog, "is being attached"],
  ["resize", ResizeDialog, "is growing"],
  ["clone", CloneDialog, "is being copied"],
] as const;

export default function List() {
  const search = route.useSearch();
  const permissions = usePermissions();
  const { show, rowOf, close, done } = useRowDialog<Volume, Dialog>("volumes");
  const actions = useMemo(() => (volume: Volume) => <Actions volume={volume} onOpen={(dialog) => show(dialog, volume)} />, []);
  const toRemove = rowOf("delete");
  return (
    <ListPage
      title="Volumes"
      noun="volume"
      lead={(page) => <Sum all={page.data} results={page.results} />}
      make={{ to: "/volumes/new", label: "Create volume", held: permissions.create("add_volumes") }}
      nothing={{ icon: "disk", text: TEXT, command: CURL }}
      columns={COLUMNS}
      query={useQuery(volumes(search))}
      rowLabel={(volume) => volume.label}
      search={search}
      actions={actions}
    >
      {DIALOGS.map(([name, Dialog, outcome]) => {
        const volume = rowOf(name);
        return volume && <Dialog key={name} volume={volume} onClose={close} onDone={() => done(`${volume.label} ${outcome}`)} />;
      })}
      {toRemove && (
        <ConfirmByLabel
          onClose={close}
          verb="Delete"
          label={toRemove.label}
          onConfirm={() => remove(toRemove.id).then(() => done(`${toRemove.label} was deleted`))}
          lost={<p>All {toRemove.size} GB that are on it are given up for good. It stops costing money.</p>}
        />
      )}
    </ListPage>
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
  const permissions = usePermissions();
  const cache = useQueryClient();
  const busy = useProgress("volume", volume.id) !== undefined && "Something is under way";
  const change = permissions.change("volume", volume.id);
  const free = volume.compute_id === null;
  const onDetach = () =>
    detach(volume.id)
      .then(() => notify(`${volume.label} is being detached`))
      .then(() => cache.invalidateQueries({ queryKey: ["volumes"] }))
      .catch((error: unknown) => notifyFailed(`Detach ${volume.label}`, error));
  return (
    <RowMenu
      label={volume.label}
      actions={[
        { label: "Rename and tag…", icon: "pencil", onClick: () => onOpen("edit"), reason: change },
        free
          ? { label: "Attach…", icon: "link", onClick: () => onOpen("attach"), reason: change ?? busy }
          : { label: "Detach", icon: "link", onClick: () => void onDetach(), reason: change ?? (permissions.change("compute", volume.compute_id ?? 0) || busy) },
        { label: "Resize…", icon: "up", onClick: () => onOpen("resize"), reason: change ?? busy },
        { label: "Clone…", icon: "copy", onClick: () => onOpen("clone"), reason: permissions.create("add_volumes") ?? change ?? busy },
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
      <TwoLines under={<TagsAndAge of={volume} />}>
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
        <RowLink to={`/instances/${volume.compute_id}`}>{volume.compute_label}</RowLink>
      ),
  },
  { key: "path", header: "Path in the instance", phone: "wide", csv: (volume) => volume.filesystem_path, cell: (volume) => <Copyable text={volume.filesystem_path} what="path" /> },
];
