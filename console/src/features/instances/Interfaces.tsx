/** Network interfaces, in their order: the public one, and VLANs of the region. */
import { ActionIcon, Autocomplete, Button, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { Schemas } from "../../api/client";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { vlans } from "./choices";
import css from "./Interfaces.module.css";
import { regions } from "./queries";

export interface NetworkInterface {
  purpose: "public" | "vlan";
  label: string | null;
  ipam_address: string | null;
}
const MOST = 3;

/** As the API takes them: a public one has neither a name nor an address of its own. */
export const toInterfaces = (interfaces: NetworkInterface[]): Schemas["InterfaceBody"][] =>
  interfaces.map((iface) => (iface.purpose === "public" ? { purpose: "public" } : { purpose: "vlan", label: iface.label ?? "", ...(iface.ipam_address ? { ipam_address: iface.ipam_address } : {}) }));

export function Interfaces({ region, interfaces, onChange, errors }: { region: string; interfaces: NetworkInterface[]; onChange: (interfaces: NetworkInterface[]) => void; errors: Record<string, ReactNode> }) {
  const { data } = useQuery(vlans);
  const place = useQuery(regions).data?.data.find((each) => each.id === region);
  const lacks = place !== undefined && !place.capabilities.includes("Vlans");
  const known = [...new Set((data?.data ?? []).filter((vlan) => vlan.region === region).map((vlan) => vlan.label))];
  const change = (place: number, part: Partial<NetworkInterface>) => onChange(interfaces.map((iface, index) => (index === place ? { ...iface, ...part } : iface)));
  const add = () => {
    const vlan: NetworkInterface = { purpose: "vlan", label: "", ipam_address: "" };
    // Without the public one in front, the first VLAN would take its place.
    onChange(interfaces.length === 0 ? [{ purpose: "public", label: null, ipam_address: null }, vlan] : [...interfaces, vlan]);
  };
  return (
    <fieldset className={css.group} data-path="interfaces" tabIndex={-1}>
      <legend>Network interfaces</legend>
      {interfaces.length === 0 && <p className="quiet">One public interface, as usual. Add a VLAN for a network of your own among machines in {region}.</p>}
      {interfaces.map((iface, place) => (
        <div key={place} className={css.interface}>
          <code>eth{place}</code>
          <NativeSelect
            aria-label={`Purpose of eth${place}`}
            value={iface.purpose}
            onChange={(event) => change(place, { purpose: event.currentTarget.value as NetworkInterface["purpose"] })}
            data={[
              { value: "public", label: "Public" },
              { value: "vlan", label: "VLAN" },
            ]}
            error={errors[`interfaces.${place}.purpose`]}
            data-path={`interfaces.${place}.purpose`}
          />
          {iface.purpose === "vlan" ? (
            <Autocomplete aria-label={`VLAN of eth${place}`} placeholder="Name, new or known" data={known} value={iface.label ?? ""} onChange={(label) => change(place, { label })} error={errors[`interfaces.${place}.label`]} data-path={`interfaces.${place}.label`} />
          ) : (
            <span />
          )}
          {iface.purpose === "vlan" ? (
            <TextInput aria-label={`Address of eth${place}`} placeholder="10.0.0.1/24" value={iface.ipam_address ?? ""} onChange={(event) => change(place, { ipam_address: event.currentTarget.value })} error={errors[`interfaces.${place}.ipam_address`]} data-path={`interfaces.${place}.ipam_address`} />
          ) : (
            <span />
          )}
          <ActionIcon className={css.remove} variant="subtle" color="gray" aria-label={`Remove eth${place}`} onClick={() => onChange(interfaces.filter((_, index) => index !== place))}>
            <Icon name="cross" size={16} />
          </ActionIcon>
        </div>
      ))}
      {errors.interfaces && (
        <p className={css.wrong} role="alert">
          {errors.interfaces}
        </p>
      )}
      <div>
        <Disabled reason={lacks ? `There are no VLANs in ${region}` : interfaces.length >= MOST && `There can be ${MOST} at most`}>
          <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={add}>
            Add a VLAN
          </Button>
        </Disabled>
      </div>
    </fieldset>
  );
}
