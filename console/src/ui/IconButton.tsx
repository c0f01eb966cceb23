/** A button that is an icon, as rows have them: the browser's own, since there may be hundreds. */
import { Icon, type IconName } from "./Icon";
import css from "./LazyMenu.module.css";

export function IconButton({ icon, label, title, onClick }: { icon: IconName; label: string; title?: string; onClick: () => void }) {
  return (
    <button type="button" className={css.dots} aria-label={label} title={title ?? label} onClick={onClick}>
      <Icon name={icon} size={16} />
    </button>
  );
}
