import { Button, Skeleton, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { useSending } from "../../ui/form";
import { Icon } from "../../ui/Icon";
import { Card, ErrorMessage } from "../../ui/Page";
import { SecretDialog } from "../../ui/SecretDialog";
import { Frame } from "./Frame";
import css from "./Profile.module.css";
import { beginTwoFactor, confirmTwoFactor, endTwoFactor, profile } from "./queries";
import { qrPath } from "./qr";

export default function TwoFactor() {
  const cache = useQueryClient();
  const { data } = useQuery(profile);
  const [secret, setSecret] = useState<string | null>(null);
  const [scratch, setScratch] = useState<string | null>(null);
  const [ending, setEnding] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const fresh = () => cache.invalidateQueries({ queryKey: ["profile", "view"] });
  const begin = () => beginTwoFactor().then((given) => setSecret(given.secret), setProblem);
  return (
    <Frame>
      <Card title="A code when you sign in">
        {!data ? (
          <Skeleton height={90} />
        ) : secret ? (
          <Confirm
            secret={secret}
            username={data.username}
            onDone={async (code) => {
              setSecret(null);
              setScratch(code);
              await fresh();
            }}
          />
        ) : (
          <div className={css.step}>
            {data.two_factor_auth ? (
              <p className={css.good}>
                <Icon name="shield" /> On: signing in takes your password and a code
              </p>
            ) : (
              <p className={css.off}>
                <Icon name="warn" /> Off: whoever has your password is you
              </p>
            )}
            <p className="quiet">An app on your phone shows a new code every half minute. Browsers that you trust are asked once in 30 days.</p>
            <div>
              <Button variant={data.two_factor_auth ? "default" : "filled"} onClick={() => void begin()}>
                {data.two_factor_auth ? "Move to another phone" : "Turn it on"}
              </Button>{" "}
              {data.two_factor_auth && (
                <Button variant="subtle" color="red.8" onClick={() => setEnding(true)}>
                  Turn it off
                </Button>
              )}
            </div>
            {problem !== null && <ErrorMessage error={problem} />}
          </div>
        )}
      </Card>
      <SecretDialog title="Two-factor is on" what="scratch code" secret={scratch} onDone={() => setScratch(null)}>
        If you lose your phone, this code lets you in, once. It is not shown again: keep it where you keep passwords.
      </SecretDialog>
      {data && (
        <ConfirmByLabel
          opened={ending}
          onClose={() => setEnding(false)}
          verb="Turn off two-factor of"
          label={data.username}
          lost={<p>Your password alone will let somebody in.</p>}
          onConfirm={async () => {
            await endTwoFactor();
            await fresh();
          }}
        />
      )}
    </Frame>
  );
}

function Confirm({ secret, username, onDone }: { secret: string; username: string; onDone: (scratch: string) => unknown }) {
  const picture = useMemo(() => qrPath(`otpauth://totp/crofter:${encodeURIComponent(username)}?secret=${secret}&issuer=crofter`), [secret, username]);
  const form = useForm({ initialValues: { tfa_code: "" } });
  const sending = useSending(form, ({ tfa_code }) => confirmTwoFactor(tfa_code), (given) => onDone(given.scratch));
  return (
    <div className={css.steps}>
      <svg className={css.code} viewBox={`0 0 ${picture.size} ${picture.size}`} role="img" aria-label="QR code for your authenticator app" shapeRendering="crispEdges">
        <path d={picture.path} fill="#000" />
      </svg>
      <form className={css.step} onSubmit={sending.onSubmit} noValidate>
        <p>
          <strong>Scan the picture</strong> with an authenticator app, or type this secret into it:
        </p>
        <p>
          <Copyable text={secret} what="secret" />
        </p>
        <TextInput label="The code that it shows" inputMode="numeric" autoComplete="one-time-code" maxLength={12} w={180} data-autofocus {...form.getInputProps("tfa_code")} />
        {sending.problem !== null && <ErrorMessage error={sending.problem} />}
        <div>
          <Button type="submit" loading={sending.busy}>
            Turn it on
          </Button>
        </div>
      </form>
    </div>
  );
}
