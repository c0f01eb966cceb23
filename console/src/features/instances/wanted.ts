/** The form that makes an instance, and the call that it stands for. */
import type { NetworkInterface } from "./Interfaces";
import { toInterfaces } from "./Interfaces";
import type { Wanted } from "./queries";
import type { From } from "./routes";

export const FIELDS = [
  "label",
  "region",
  "image",
  "type",
  "root_pass",
  "authorized_keys",
  "authorized_users",
  "stackscript_id",
  "stackscript_data",
  "tags",
  "swap_size",
  "booted",
  "backups_enabled",
  "backup_id",
  "private_ip",
  "interfaces",
] as const;

export type Values = {
  label: string;
  region: string;
  image: string;
  type: string;
  root_pass: string;
  authorized_keys: string[];
  authorized_users: string[];
  stackscript_id: number | null;
  stackscript_data: Record<string, string>;
  tags: string[];
  swap_size: number;
  booted: boolean;
  backups_enabled: boolean;
  backup_id: number | null;
  private_ip: boolean;
  interfaces: NetworkInterface[];
  /** No field of the call: a firewall is told of the instance once it is there. */
  firewall: number | null;
};

export function startOf(from: From): Values {
  return {
    label: "",
    region: from.region ?? "eu-west",
    image: from.from === undefined ? (from.image ?? "compute/debian12") : "",
    type: from.type ?? "g6-standard-1",
    root_pass: "",
    authorized_keys: [],
    authorized_users: [],
    stackscript_id: from.stackscript ?? null,
    stackscript_data: {},
    tags: [],
    swap_size: 512,
    booted: true,
    backups_enabled: false,
    backup_id: from.from ?? null,
    private_ip: false,
    interfaces: [],
    firewall: null,
  };
}

/** Only what differs from what the API does by itself, so that the call is as short as a person would write it. */
export function toWanted(values: Values): Wanted {
  const { region, type } = values;
  const wanted: Wanted = { type, region };
  if (values.label) wanted.label = values.label;
  if (values.backup_id !== null) wanted.backup_id = values.backup_id;
  else if (values.image) {
    wanted.image = values.image;
    if (values.root_pass) wanted.root_pass = values.root_pass;
    if (values.authorized_keys.length > 0) wanted.authorized_keys = values.authorized_keys;
    if (values.authorized_users.length > 0) wanted.authorized_users = values.authorized_users;
    if (values.stackscript_id !== null) {
      wanted.stackscript_id = values.stackscript_id;
      const answers = Object.entries(values.stackscript_data).filter(([, answer]) => answer !== "");
      if (answers.length > 0) wanted.stackscript_data = Object.fromEntries(answers) as Record<string, never>;
    }
    if (values.swap_size !== 512) wanted.swap_size = values.swap_size;
    if (!values.booted) wanted.booted = false;
  }
  if (values.tags.length > 0) wanted.tags = values.tags;
  wanted.backups_enabled = values.backups_enabled;
  if (values.private_ip) wanted.private_ip = true;
  if (values.interfaces.length > 0) wanted.interfaces = toInterfaces(values.interfaces);
  return wanted;
}
