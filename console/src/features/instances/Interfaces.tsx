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

export interface Face {
  purpose: "public" | "vlan";
  label: string | null;
  ipam_address: string | null;
}
const MOST = 3;

/** As the API takes them: a public one has neither a name nor an address of its own. */
export const toInterfaces = (faces: Face[]): Schemas["InterfaceBody"][] =>
  faces.map((face) => (face.purpose === "public" ? { purpose: "public" } : { purpose: "vlan", label: face.label ?? "", ...(face.ipam_address ? { ipam_address: face.ipam_address } : {}) }));

export function Interfaces({ region, faces, onChange, errors }: { region: string; faces: Face[]; onChange: (faces: Face[]) => void; errors: Record<string, ReactNode> }) {
  const { data } = useQuery(vlans);
  const place = useQuery(regions).data?.data.find((each) => each.id === region);
  const lacks = place !== undefined && !place.capabilities.includes("Vlans");
  const known = [...new Set((data?.data ?? []).filter((vlan) => vlan.region === region).map((vlan) => vlan.label))];
  const change = (place: number, part: Partial<Face>) => onChange(faces.map((face, index) => (index === place ? { ...face, ...part } : face)));
  const add = () => {
    const vlan: Face = { purpose: "vlan", label: "", ipam_address: "" };
    // Without the public one in front, the first VLAN would take its place.
    onChange(faces.length === 0 ? [{ purpose: "public", label: null, ipam_address: null }, vlan] : [...faces, vlan]);
  };
  return (
    <fieldset className={css.group} data-path="interfaces" tabIndex={-1}>
      <legend>Network interfaces</legend>
      {faces.length === 0 && <p className="quiet">One public interface, as usual. Add a VLAN for a network of your own among machines in {region}.</p>}
      {faces.map((face, place) => (
        <div key={place} className={css.face}>
          <code>eth{place}</code>
          <NativeSelect
            aria-label={`Purpose of eth${place}`}
            value={face.purpose}
            onChange={(event) => change(place, { purpose: event.currentTarget.value as Face["purpose"] })}
            data={[
              { value: "public", label: "Public" },
              { value: "vlan", label: "VLAN" },
            ]}
            error={errors[`interfaces.${place}.purpose`]}
            data-path={`interfaces.${place}.purpose`}
          />
          {face.purpose === "vlan" ? (
            <Autocomplete aria-label={`VLAN of eth${place}`} placeholder="Name, new or known" data={known} value={face.label ?? ""} onChange={(label) => change(place, { label })} error={errors[`interfaces.${place}.label`]} data-path={`interfaces.${place}.label`} />
          ) : (
            <span />
          )}
          {face.purpose === "vlan" ? (
            <TextInput aria-label={`Address of eth${place}`} placeholder="10.0.0.1/24" value={face.ipam_address ?? ""} onChange={(event) => change(place, { ipam_address: event.currentTarget.value })} error={errors[`interfaces.${place}.ipam_address`]} data-path={`interfaces.${place}.ipam_address`} />
          ) : (
            <span />
          )}
          <ActionIcon className={css.remove} variant="subtle" color="gray" aria-label={`Remove eth${place}`} onClick={() => onChange(faces.filter((_, index) => index !== place))}>
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
        <Disabled reason={lacks ? `There are no VLANs in ${region}` : faces.length >= MOST && `There can be ${MOST} at most`}>
          <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={add}>
            Add a VLAN
          </Button>
        </Disabled>
      </div>
    </fieldset>
  );
}
