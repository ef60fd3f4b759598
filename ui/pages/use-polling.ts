import { useEffect } from "preact/hooks";

/** Calls at once and then again and again while the component is there and the tab is looked at. Milliseconds. */
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
