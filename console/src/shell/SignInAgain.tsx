/** The session has ended: the page stays as it is, with all that was typed, until somebody has signed in in another tab. */
import { Button, Group, Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { profile } from "../features/profile/queries";
import { session } from "../session/session";

export function SignInAgain() {
  const cache = useQueryClient();
  const [lost, setLost] = useState(false);
  const [tried, setTried] = useState(false);
  useEffect(
    () =>
      session.onChange((state) => {
        setLost(state === "lost");
        setTried(false);
        if (state === "lost") return;
        const before = cache.getQueryData(profile.queryKey)?.username;
        void cache.fetchQuery({ ...profile, staleTime: 0 }).then((now) => {
          if (before && now.username !== before) location.reload(); // what is shown belongs to somebody else
          else void cache.invalidateQueries();
        });
      }),
    [cache],
  );
  return lost && (
    <Modal opened onClose={() => {}} title="Sign in again" withCloseButton={false} closeOnClickOutside={false} closeOnEscape={false}>
      <p>Your session has ended. This page stays as it is, with what you have typed: sign in in another tab, and go on here.</p>
      {tried && <p role="alert">Nobody is signed in with this browser yet.</p>}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={() => void session.recover().then((recovered) => setTried(!recovered))}>
          I have signed in
        </Button>
        <Button component="a" href="/console/" target="_blank" rel="noreferrer" data-autofocus>
          Sign in in a new tab
        </Button>
      </Group>
    </Modal>
  );
}
