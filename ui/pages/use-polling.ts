// Polling while a component is mounted.

import { useEffect } from "preact/hooks";

/** Calls `poll` at once and then every `everyMs` milliseconds, while the component is mounted and the tab is visible. */
export function usePolling(poll: () => Promise<void>, everyMs: number): void {
  useEffect(() => {
    let isGone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = async (): Promise<void> => {
      if (!document.hidden) await poll();
      if (!isGone) timer = setTimeout(() => void next(), everyMs);
    };
    void next();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, []);
}
