import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { session } from "../../session/session";
import { Ago, Time, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Empty } from "../../ui/Page";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { Frame } from "./Frame";
import css from "./Profile.module.css";
import { type Device, devices, forgetDevice, type Login, logins } from "./queries";

/** What a browser calls itself, in two words. */
export function browserName(agent: string): string {
  const browser = /Edg\//.test(agent) ? "Edge" : /OPR\//.test(agent) ? "Opera" : /Chrome\//.test(agent) ? "Chrome" : /Firefox\//.test(agent) ? "Firefox" : /Safari\//.test(agent) ? "Safari" : agent.split("/")[0] || "A browser";
  const system = /Android/.test(agent) ? "Android" : /iPhone|iPad/.test(agent) ? "iOS" : /Windows/.test(agent) ? "Windows" : /Mac OS/.test(agent) ? "macOS" : /Linux/.test(agent) ? "Linux" : "";
  return system ? `${browser} on ${system}` : browser;
}

const DEVICES: Column<Device>[] = [
  { key: "agent", header: "Browser", csv: (device) => device.user_agent, cell: (device) => <TwoLines under={device.last_remote_addr}><strong>{browserName(device.user_agent)}</strong></TwoLines> },
  { key: "last", header: "Last signed in", csv: (device) => device.last_authenticated, cell: (device) => <Ago time={device.last_authenticated} /> },
  { key: "expiry", header: "Trusted until", phone: "hide", csv: (device) => device.expiry, cell: (device) => <Time time={device.expiry} /> },
];
const LOGINS: Column<Login>[] = [
  { key: "time", header: "When", csv: (login) => login.datetime, cell: (login) => <Time time={login.datetime} /> },
  { key: "status", header: "Outcome", csv: (login) => login.status, cell: (login) => <Status status={login.status} /> },
  { key: "ip", header: "From", csv: (login) => login.ip, cell: (login) => <code>{login.ip}</code> },
];

export default function Devices() {
  const cache = useQueryClient();
  const trusted = useQuery(devices);
  const [toRemove, setToRemove] = useState<Device | null>(null);
  const actions = useMemo(
    () => (device: Device) => (
      <Button variant="subtle" color="red.8" size="compact-sm" onClick={() => setToRemove(device)} aria-label={`Forget ${browserName(device.user_agent)}`}>
        Forget
      </Button>
    ),
    [],
  );
  return (
    <Frame
      actions={
        <Button variant="default" onClick={() => void session.signOut()}>
          Sign out of this browser
        </Button>
      }
    >
      <div className={css.column}>
        <h2>Trusted browsers</h2>
        <Table
          name="trusted browsers"
          columns={DEVICES}
          query={trusted}
          rowKey={(device) => device.id}
          rowLabel={(device) => browserName(device.user_agent)}
          actions={actions}
          empty={
            <Empty icon="shield" title="No browser is trusted">
              A browser that you tell to remember you is not asked for the second factor for 30 days.
            </Empty>
          }
        />
        <h2>Sign-ins of the last 90 days</h2>
        <Table
          name="sign-ins"
          columns={LOGINS}
          query={useQuery(logins)}
          rowKey={(login) => login.id}
          rowLabel={(login) => login.datetime}
          empty={
            <Empty icon="clock" title="Nobody has signed in yet">
              Every attempt with your name is written down, those that failed too.
            </Empty>
          }
        />
        <p className="quiet">
          Was one of these not you? <a href="/login/change">Change the password</a>: every other browser is signed out, and none is trusted any more.
        </p>
      </div>
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Forget"
          label={browserName(toRemove.user_agent)}
          lost={<p>The next sign-in from there takes the second factor again.</p>}
          onConfirm={async () => {
            await forgetDevice(toRemove.id);
            await cache.invalidateQueries({ queryKey: ["profile", "devices"] });
          }}
        />
      )}
    </Frame>
  );
}
