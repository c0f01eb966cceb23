/** What a disk is filled with, and who may sign in: fields that creating, rebuilding and adding a disk share. */
import { MultiSelect, PasswordInput, type PasswordInputProps, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { Schemas } from "../../api/client";
import { useNow } from "../../ui/now";
import { moment } from "../../ui/words";
import { people, scripts, sshKeys } from "./choices";
import { images, regions } from "./queries";

/** What `form.getInputProps` gives. */
interface Field<T> {
  value?: T;
  onChange: (value: T) => void;
  error?: ReactNode;
}

const COUNTRY = new Intl.DisplayNames(undefined, { type: "region" });
const place = (country: string) => COUNTRY.of(country === "uk" ? "GB" : country.toUpperCase()) ?? country;

/** `needs` is a capability: places without it are shown, and cannot be chosen. */
export function RegionField({ value, onChange, error, label = "Region", needs, without }: Field<string> & { label?: string; needs?: string; without?: string }) {
  const { data } = useQuery(regions);
  const options = (data?.data ?? [])
    .filter((region) => region.id !== without)
    .map((region) => ({
      value: region.id,
      label: `${place(region.country)} (${region.id})${region.status === "ok" ? "" : ", outage"}`,
      disabled: region.status !== "ok" || (needs !== undefined && !region.capabilities.includes(needs)),
    }));
  return <Select label={label} data={options} value={value || null} onChange={(chosen) => chosen && onChange(chosen)} searchable allowDeselect={false} error={error} data-path="region" />;
}

/** Official images by maker, and those of the account first. `only` cuts them to what a script can be run on. */
export function ImageField({ value, onChange, error, only, description }: Field<string> & { only?: string[]; description?: string }) {
  const { data } = useQuery(images);
  const now = useNow();
  const fits = (id: string) => !only || only.includes("any/all") || only.includes(id);
  const offered = (data?.data ?? []).filter((image) => !image.deprecated && image.status === "available" && fits(image.id));
  const item = (image: Schemas["ImageView"]) => ({ value: image.id, label: image.eol && moment(image.eol).getTime() < now ? `${image.label} (no longer cared for)` : image.label });
  const own = offered.filter((image) => !image.is_public);
  const makers = [...new Set(offered.filter((image) => image.is_public).map((image) => image.vendor ?? "Others"))].sort();
  const groups = [
    ...(own.length > 0 ? [{ group: "Your images", items: own.map(item) }] : []),
    ...makers.map((maker) => ({ group: maker, items: offered.filter((image) => image.is_public && (image.vendor ?? "Others") === maker).map(item) })),
  ];
  return (
    <Select label="Image" description={description} data={groups} value={value || null} onChange={(chosen) => onChange(chosen ?? "")} searchable clearable placeholder="None: an empty machine" error={error} data-path="image" maxDropdownHeight={320} />
  );
}

export function RootPassword(props: PasswordInputProps) {
  return (
    <PasswordInput label="Root password" description="Checked for strength by the server" autoComplete="new-password" visibilityToggleButtonProps={{ "aria-label": "Show the password" }} {...props} />
  );
}

/** The keys of one's own profile; what is sent is the text of each. */
export function KeysField({ value, onChange, error }: Field<string[]>) {
  const { data } = useQuery(sshKeys);
  const known = data?.data ?? [];
  return (
    <MultiSelect
      label="Your SSH keys"
      description={known.length === 0 ? "Your profile has none yet" : "May sign in as root"}
      data={[...new Map(known.map((key) => [key.ssh_key, { value: key.ssh_key, label: key.label }])).values()]}
      value={value}
      onChange={onChange}
      error={error}
      disabled={known.length === 0}
      data-path="authorized_keys"
    />
  );
}

/** People of the account whose keys may sign in. */
export function PeopleField({ value, onChange, error }: Field<string[]>) {
  const { data } = useQuery(people);
  const known = (data?.data ?? []).filter((user) => user.ssh_keys.length > 0);
  return (
    <MultiSelect
      label="People"
      description={known.length === 0 ? "Nobody on the account has an SSH key" : "All SSH keys on their profiles"}
      data={known.map((user) => user.username)}
      value={value}
      onChange={onChange}
      error={error}
      disabled={known.length === 0}
      data-path="authorized_users"
    />
  );
}

export function ScriptField({ value = null, onChange, error }: Field<number | null>) {
  const { data } = useQuery(scripts);
  const known = data?.data ?? [];
  const item = (script: Schemas["StackScriptView"]) => ({ value: String(script.id), label: `${script.label} (${script.username})` });
  const groups = [
    { group: "Yours", items: known.filter((script) => script.mine).map(item) },
    { group: "Public", items: known.filter((script) => !script.mine).map(item) },
  ].filter((group) => group.items.length > 0);
  return (
    <Select
      label="StackScript"
      description="Runs at the first boot"
      placeholder={known.length === 0 ? "There are none yet" : "None"}
      data={groups}
      value={value === null ? null : String(value)}
      onChange={(chosen) => onChange(chosen === null ? null : Number(chosen))}
      searchable
      clearable
      error={error}
      data-path="stackscript_id"
    />
  );
}

type Answers = Record<string, string>;

/** What a script asks of who deploys it. */
export function Questions({ script, answers, onChange, errors }: { script: number | null; answers: Answers; onChange: (answers: Answers) => void; errors: Record<string, ReactNode> }) {
  const { data } = useQuery(scripts);
  const asked = data?.data.find(({ id }) => id === script)?.user_defined_fields ?? [];
  return asked.map((field) => {
    const set = (value: string) => onChange({ ...answers, [field.name]: value });
    const common = { label: field.label, error: errors[`stackscript_data.${field.name}`] ?? errors[field.name], "data-path": `stackscript_data.${field.name}` };
    const value = answers[field.name] ?? "";
    const hint = field.default !== undefined ? `${field.default} if nothing is said` : field.example || undefined;
    if (field.oneOf !== undefined)
      return <Select key={field.name} {...common} data={[...new Set(field.oneOf.split(",").map((choice) => choice.trim()))]} value={value || null} placeholder={hint} clearable onChange={(chosen) => set(chosen ?? "")} />;
    if (field.manyOf !== undefined)
      return (
        <MultiSelect key={field.name} {...common} data={[...new Set(field.manyOf.split(",").map((choice) => choice.trim()))]} value={value ? value.split(",") : []} placeholder={value ? undefined : hint} onChange={(chosen) => set(chosen.join(","))} />
      );
    if (/pass|secret|token/i.test(field.name)) return <PasswordInput key={field.name} {...common} value={value} autoComplete="off" visibilityToggleButtonProps={{ "aria-label": `Show ${field.label}` }} onChange={(change) => set(change.currentTarget.value)} />;
    return <TextInput key={field.name} {...common} value={value} placeholder={hint} autoComplete="off" onChange={(change) => set(change.currentTarget.value)} />;
  });
}

/** The images that a script can be run on; undefined for all. */
export function useImagesOf(script: number | null): string[] | undefined {
  const { data } = useQuery(scripts);
  return data?.data.find(({ id }) => id === script)?.images;
}
