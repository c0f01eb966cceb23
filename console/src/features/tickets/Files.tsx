/** Files to attach: what is taken is said before somebody chooses, and what is not taken right after. */
import { Button, FileButton } from "@mantine/core";
import { useId, useState } from "react";

import { Icon } from "../../ui/Icon";
import { size } from "../../ui/words";
import { LIMITS, unfit } from "./queries";
import css from "./Tickets.module.css";

export function Files({ files, onChange, error }: { files: File[]; onChange: (files: File[]) => void; error?: string }) {
  const [refused, setRefused] = useState<string[]>([]);
  const hint = useId();
  const add = (chosen: File[]) => {
    setRefused(chosen.flatMap((file) => unfit(file) ?? []));
    onChange([...files, ...chosen.filter((file) => !unfit(file))]);
  };
  return (
    <div className={css.files}>
      <div className={css.filesHead}>
        <FileButton multiple accept={LIMITS.kinds.join(",")} onChange={add}>
          {(button) => (
            <Button {...button} variant="default" size="xs" leftSection={<Icon name="upload" size={14} />} aria-describedby={hint}>
              Attach files
            </Button>
          )}
        </FileButton>
        <span id={hint} className={css.hint}>
          Pictures (.png, .jpg, .gif, .tif), .pdf or .txt, at most 5 MB each
        </span>
      </div>
      {[...refused, ...(error ? [error] : [])].map((reason) => (
        <p key={reason} className={css.refused} role="alert">
          {reason}
        </p>
      ))}
      {files.length > 0 && (
        <ul className={css.chosen} aria-label="Files to attach">
          {files.map((file, index) => (
            <li key={`${file.name}-${index}`}>
              {file.name} <span className="quiet">{file.size < 1024 * 1024 ? `${Math.ceil(file.size / 1024)} kB` : size(Math.round(file.size / 1024 / 1024))}</span>
              <button type="button" className={css.drop} aria-label={`Do not attach ${file.name}`} onClick={() => onChange(files.filter((_, at) => at !== index))}>
                <Icon name="cross" size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
