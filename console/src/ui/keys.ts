/** Whether a key may be a shortcut: nobody is typing, no dialog or menu is open, and no other key is held. */
export function isFree(key: KeyboardEvent): boolean {
  const target = key.target as HTMLElement;
  const typing = target.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && (target as HTMLInputElement).type !== "checkbox");
  return !(key.ctrlKey || key.metaKey || key.altKey || typing || document.querySelector('[role="dialog"], [role="menu"]'));
}
