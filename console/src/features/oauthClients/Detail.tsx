import { Button, FileButton, Skeleton, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { FormCard, useSending } from "../../ui/form";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { SecretDialog } from "../../ui/SecretDialog";
import { usePermissions } from "../profile/permissions";
import css from "./Detail.module.css";
import { change, type Client, clientById, remove, resetSecret, sendThumbnail } from "./queries";

const route = getRouteApi("/oauth-clients/$id");
const BACK = { to: "/oauth-clients", label: "OAuth clients" };

export default function Detail() {
  const { id } = route.useParams();
  const query = useQuery(clientById(id));
  const navigate = useNavigate();
  const cache = useQueryClient();
  const held = usePermissions().account();
  const [confirming, setConfirming] = useState(false);
  const client = query.data;
  if (!client)
    return (
      <Page title="OAuth client" back={BACK}>
        {query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : <Skeleton height={160} radius={10} />}
      </Page>
    );
  return (
    <Page
      title={client.label}
      back={BACK}
      lead={client.public ? "A public client: it keeps no secret" : "A confidential client"}
      actions={
        <Disabled reason={held}>
          <Button variant="default" onClick={() => setConfirming(true)}>
            Delete
          </Button>
        </Disabled>
      }
    >
      <div className={css.grid}>
        <Edit client={client} />
        <div className={css.side}>
          <Identity client={client} held={held} />
          <Picture client={client} held={held} />
        </div>
      </div>
      <ConfirmByLabel
        opened={confirming}
        onClose={() => setConfirming(false)}
        verb="Delete"
        label={client.label}
        lost={<p>Everybody who has allowed it loses the tokens that it holds.</p>}
        onConfirm={async () => {
          await remove(id);
          await cache.invalidateQueries({ queryKey: ["oauthClients", "list"] });
          await navigate({ to: "/oauth-clients", search: {} });
        }}
      />
    </Page>
  );
}

function Edit({ client }: { client: Client }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { label: client.label, redirect_uri: client.redirect_uri } });
  const sending = useSending(form, (values) => change(client.id, values), async () => {
    await cache.invalidateQueries({ queryKey: ["oauthClients"] });
    notifications.show({ message: "The app is saved", color: "croft" });
  });
  return (
    <FormCard title="What it is" sending={sending} submit="Save">
      <TextInput label="Name" {...form.getInputProps("label")} />
      <TextInput label="Redirect address" {...form.getInputProps("redirect_uri")} />
    </FormCard>
  );
}

function Identity({ client, held }: { client: Client; held: string | undefined }) {
  const [asking, setAsking] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <Card title="Identity">
      <p className={css.id}>
        Client id <Copyable text={client.id} what="client id" />
      </p>
      <Disabled reason={held ?? (client.public && "A public client has no secret.")}>
        <Button variant="default" onClick={() => setAsking(true)}>
          New secret
        </Button>
      </Disabled>
      <ConfirmByLabel
        opened={asking}
        onClose={() => setAsking(false)}
        verb="Make a new secret for"
        label={client.label}
        lost={<p>The present secret ends at once: the app cannot get tokens until it has the new one.</p>}
        onConfirm={async () => setSecret((await resetSecret(client.id)).secret)}
      />
      <SecretDialog title="Secret of the app" what="client secret" secret={secret} onDone={() => setSecret(null)} />
    </Card>
  );
}

function Picture({ client, held }: { client: Client; held: string | undefined }) {
  const cache = useQueryClient();
  const [problem, setProblem] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  async function send(file: File | null): Promise<void> {
    if (!file) return;
    setProblem(null);
    try {
      await sendThumbnail(client.id, file);
      setTurn(turn + 1);
      await cache.invalidateQueries({ queryKey: ["oauthClients", "one", client.id] });
    } catch (error) {
      setProblem(error);
    }
  }
  return (
    <Card title="Picture">
      <div className={css.picture}>
        {client.thumbnail_url ? <img src={`/v4/account/oauth-clients/${client.id}/thumbnail?${turn}`} alt={`Picture of ${client.label}`} width={64} height={64} /> : <span className={css.none} aria-hidden="true">{client.label.charAt(0).toUpperCase()}</span>}
        <div>
          <p className="quiet">PNG, JPEG or GIF, at most 512 kB. Shown where it asks for access.</p>
          <FileButton onChange={(file) => void send(file)} accept="image/png,image/jpeg,image/gif" inputProps={{ "aria-label": "Picture file" }}>
            {(props) => (
              <Disabled reason={held}>
                <Button variant="default" {...props}>
                  Upload a picture
                </Button>
              </Disabled>
            )}
          </FileButton>
        </div>
      </div>
      {problem !== null && <ErrorMessage error={problem} />}
    </Card>
  );
}
