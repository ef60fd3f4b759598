// What an empty conversation shows.

import { isToy, models } from "../state/models.ts";

export function Welcome() {
  const all = models.value;
  return (
    <div class="thread">
      <div class="column welcome">
        <h2>What is on your mind?</h2>
        <p>Conversations stay in this browser.</p>
        {isToy(all) && (
          <p class="note">
            This server runs its built-in model, a toy of four million parameters: it copies, counts and knows
            some capitals. Start svc with <code>-m</code> and a model for more.
          </p>
        )}
      </div>
    </div>
  );
}
