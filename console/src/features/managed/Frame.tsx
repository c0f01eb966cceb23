/** The parts of the managed service; an account that does not have it is offered it, with its price. */
import { Button, Group, Modal, Skeleton } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { Disabled } from "../../ui/Disabled";
import { Card, Empty, ErrorMessage, Page } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { money } from "../../ui/words";
import { settings } from "../account/queries";
import { usePermissions } from "../profile/permissions";
import { enable, enablePlan } from "./queries";

const TABS = [
  { to: "/managed", label: "Services", exact: true },
  { to: "/managed/issues", label: "Issues" },
  { to: "/managed/contacts", label: "Contacts" },
  { to: "/managed/credentials", label: "Credentials" },
];
const CURL = 'curl -X POST -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/account/settings/managed-enable';

/** `children` are drawn only once the account is known to have the service: what they ask would be refused otherwise. */
export function Frame({ lead, actions, children }: { lead?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const query = useQuery(settings);
  const denied = usePermissions().unrestricted();
  if (query.data?.managed && !denied)
    return (
      <Page title="Managed" lead={lead} actions={actions}>
        <Tabs label="Parts of the managed service" tabs={TABS} />
        {children}
      </Page>
    );
  return (
    <Page title="Managed">
      {denied ? <ErrorMessage error={new Error(denied)} /> : query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : query.data ? <Offer /> : <Skeleton height={240} radius={10} />}
    </Page>
  );
}

function Offer() {
  const cache = useQueryClient();
  const permissions = usePermissions();
  const plan = useQuery(enablePlan);
  const [asked, setAsked] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const price = plan.data ? `${money(plan.data.price.monthly)} a month more` : "…";
  const confirm = async () => {
    setBusy(true);
    try {
      await enable();
      await cache.invalidateQueries({ queryKey: ["account"] });
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card flush>
      <Empty
        icon="pulse"
        title="Somebody who watches, day and night"
        command={CURL}
        action={
          <Disabled reason={permissions.unrestricted()}>
            <Button onClick={() => setAsked(true)}>Enable managed</Button>
          </Disabled>
        }
      >
        Your services are checked every minute. When one fails, a ticket is opened, your contacts are told, and the support staff looks into it. For your instances as they are now: <strong>{price}</strong>.
      </Empty>
      <Modal opened={asked} onClose={() => setAsked(false)} title="Enable managed?">
        <p>
          Each instance costs more from now on, also those that you make later; for those that you have now it is <strong>{price}</strong>. Only the support staff can end it again.
        </p>
        {problem !== null && <ErrorMessage error={problem} />}
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={() => setAsked(false)} data-autofocus>
            Not now
          </Button>
          <Button loading={busy} onClick={() => void confirm()}>
            Enable for {price}
          </Button>
        </Group>
      </Modal>
    </Card>
  );
}
